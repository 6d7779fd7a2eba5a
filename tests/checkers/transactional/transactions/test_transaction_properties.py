"""The transaction checkers against simulators of known strength and brute force on tiny histories."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.transactions import ConsistencyModel, check_list_append, check_rw_register
from checkers.verdict.verdict import Validity
from tests.checkers.transactional.transactions.tiny_histories import tiny
from tests.checkers.transactional.transactions.transaction_simulators import STORES, simulated

SEEDS = st.integers(0, 2**32)
FEW = settings(max_examples=60, deadline=None)
MANY = settings(max_examples=400, deadline=None)
_M = ConsistencyModel


def counts_of(store: str, seed: int) -> dict[str, int]:
    return check_list_append(simulated(STORES[store](), seed)).counts


@FEW
@given(SEEDS)
def test_a_serializable_store_is_valid(seed: int) -> None:
    result = check_list_append(simulated(STORES["serializable"](), seed))
    assert (result.counts, result.validity) == ({}, Validity.VALID)


@FEW
@given(SEEDS)
def test_snapshots_show_write_skew_and_nothing_else(seed: int) -> None:
    history = simulated(STORES["snapshot-isolation"](), seed)
    result = check_list_append(history, _M.STRONG_SNAPSHOT_ISOLATION)
    assert result.validity is Validity.VALID
    assert set(result.counts) <= {"G2-item", "G2-item-process", "G2-item-realtime"}


@FEW
@given(SEEDS)
def test_a_long_fork_is_never_read_skew(seed: int) -> None:
    """Each site is causal, so what a reader of it misses hides nothing that it sees."""
    counts = counts_of("long-fork", seed)
    data = {name for name in counts if not name.endswith(("-process", "-realtime"))}
    assert data <= {"G-nonadjacent", "G2-item"}


@FEW
@given(SEEDS)
def test_read_committed_is_judged_as_that(seed: int) -> None:
    history = simulated(STORES["read-committed"](), seed)
    assert check_list_append(history, _M.READ_COMMITTED).validity is Validity.VALID


@pytest.mark.parametrize(
    ("store", "name", "model"),
    [
        ("snapshot-isolation", "G2-item", _M.REPEATABLE_READ),
        ("long-fork", "G-nonadjacent", _M.SNAPSHOT_ISOLATION),
        ("read-committed", "G-single", _M.SNAPSHOT_ISOLATION),
        ("read-committed", "internal", _M.REPEATABLE_READ),
    ],
)
def test_what_a_store_breaks_is_found(store: str, name: str, model: ConsistencyModel) -> None:
    found = [seed for seed in range(30) if name in counts_of(store, seed)]
    assert found
    assert check_list_append(simulated(STORES[store](), found[0]), model).validity is Validity.INVALID


def copied(seed: int) -> list[Operation]:
    """A valid history whose values may be changed in place."""
    history = simulated(STORES["serializable"](), seed)
    return msgspec.json.decode(msgspec.json.encode(history.operations), type=list[Operation])


def one_read(data: st.DataObject, operations: list[Operation]) -> list[Any]:
    """What a committed transaction read, at least one element."""
    reads = [
        mop[2]
        for operation in operations
        if operation.type is OperationType.OK
        for mop in operation.value
        if mop[0] == "r" and mop[2]
    ]
    assume(reads)
    return data.draw(st.sampled_from(reads))


def counts_in(operations: list[Operation]) -> dict[str, int]:
    return check_list_append(History("run", "", tuple(operations))).counts


@FEW
@given(SEEDS, st.data())
def test_an_element_that_is_changed_is_found(seed: int, data: st.DataObject) -> None:
    operations = copied(seed)
    read = one_read(data, operations)
    read[data.draw(st.integers(0, len(read) - 1))] = data.draw(
        st.sampled_from([10**9, "rubbish", None, 1.5, True, []])
    )
    assert counts_in(operations)["phantom"] == 1


@FEW
@given(SEEDS, st.data())
def test_an_element_that_is_doubled_is_found(seed: int, data: st.DataObject) -> None:
    operations = copied(seed)
    read = one_read(data, operations)
    read.append(read[-1])
    assert {"duplicate-elements", "incompatible-order"} & set(counts_in(operations))


@FEW
@given(SEEDS, st.data())
def test_a_writer_that_failed_after_all_is_found(seed: int, data: st.DataObject) -> None:
    operations = copied(seed)
    element = data.draw(st.sampled_from(one_read(data, operations)))
    (place,) = (
        place
        for place, operation in enumerate(operations)
        if operation.type is not OperationType.INVOKE
        and any(mop[0] == "append" and mop[2] == element for mop in operation.value)
    )
    operations[place] = msgspec.structs.replace(operations[place], type=OperationType.FAIL)
    assert counts_in(operations)["G1a"] >= 1


@pytest.mark.slow
@FEW
@given(SEEDS)
def test_the_same_history_gives_the_same_result(seed: int) -> None:
    history = simulated(STORES["read-committed"](), seed)
    assert msgspec.json.encode(check_list_append(history)) == msgspec.json.encode(check_list_append(history))


@pytest.mark.slow
@MANY
@given(SEEDS, st.booleans())
def test_whatever_is_read_there_is_a_verdict(seed: int, registers: bool) -> None:  # noqa: FBT001 - drawn
    """Reads of anything, values written twice, an operation missing: reported, never raised."""
    rng = random.Random(seed)
    operations = msgspec.json.decode(
        msgspec.json.encode(tiny(seed, registers=registers).operations), type=list[Operation]
    )
    for mop in (mop for operation in operations for mop in operation.value):
        if mop[0] == "r" and rng.random() < 0.5:
            some = [rng.randint(1, 6) for _ in range(rng.randint(0, 5))]
            mop[2] = rng.choice([None, *some]) if registers else some
        elif mop[0] != "r" and rng.random() < 0.1:
            mop[2] = rng.randint(1, 4)
    if rng.random() < 0.3:
        del operations[rng.randrange(len(operations))]
    check = check_rw_register if registers else check_list_append
    result = check(History("run", "", tuple(operations)))
    assert (result.validity is Validity.INVALID) == any(anomaly.illegal for anomaly in result.anomalies)
    assert result.validity is not Validity.UNKNOWN or result.unknown_because
