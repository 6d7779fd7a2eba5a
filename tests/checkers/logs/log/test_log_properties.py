"""The log checker against a simulator of a correct log, mutations of it, and an oracle by definition."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.columns.tables import NONE
from checkers.history.operations import History, Operation, OperationType
from checkers.logs.log import check_log
from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import TOPIC, history_of
from tests.checkers.logs.log.log_oracle import expected_counts
from tests.checkers.logs.log.log_simulator import Simulation

pytestmark = pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch

SEEDS = st.integers(0, 2**32)
FEW = settings(max_examples=40)
_Records = list[list[Any]]


def simulated(seed: int, partitions: int = 2, steps: int = 40) -> History:
    return Simulation(seed, partitions, steps).history()


def copied(history: History) -> list[Operation]:
    """Operations whose values may be changed in place."""
    return msgspec.json.decode(msgspec.json.encode(history.operations), type=list[Operation])


def fixed(history: History, operations: list[Operation]) -> History:
    return msgspec.structs.replace(history, operations=tuple(operations))


def finals_of(operations: list[Operation], partition: int) -> list[dict[str, Any]]:
    """Values of the completed final reads of a partition."""
    return [
        operation.value
        for operation in operations
        if operation.f == "final-read"
        and operation.type is OperationType.OK
        and operation.value["partition"] == partition
    ]


def acknowledged(history: History) -> list[tuple[int, int, int]]:
    """Partition, offset and value of every acknowledged record."""
    return [
        (partition, offset, value)
        for operation in history.operations
        if operation.f == "send" and operation.type is not OperationType.INVOKE
        for partition, value, offset, outcome in operation.value
        if outcome == "ok"
    ]


def mutated(history: History, partition: int, change: Callable[[list[int], list[int]], object]) -> History:
    """Change offsets and values of a partition in every final read alike."""
    operations = copied(history)
    for value in finals_of(operations, partition):
        (records,) = value["records"]
        change(records[1], records[2])
    return fixed(history, operations)


def one_acknowledged(data: st.DataObject, history: History) -> tuple[int, int, int]:
    records = acknowledged(history)
    assume(records)
    return data.draw(st.sampled_from(records))


@FEW
@given(SEEDS, st.integers(1, 3), st.integers(0, 120))
def test_a_correct_log_is_valid(seed: int, partitions: int, steps: int) -> None:
    result = check_log(simulated(seed, partitions, steps))
    assert result.counts == {}
    assert result.validity in {Validity.VALID, Validity.NOT_EXERCISED}


@FEW
@given(SEEDS, st.data())
def test_a_record_dropped_from_every_final_read_is_lost(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    partition, offset, _ = one_acknowledged(data, history)

    def drop(offsets: list[int], values: list[int]) -> None:
        del values[offsets.index(offset)]
        offsets.remove(offset)

    result = check_log(mutated(history, partition, drop))
    assert result.counts == {"lost-write": 1}
    assert result.anomalies[0].subject == f"{TOPIC}/{partition}@{offset}"
    assert result.validity is Validity.INVALID


@FEW
@given(SEEDS, st.data())
def test_a_record_dropped_from_one_final_read_is_a_disagreement(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    partition, offset, _ = one_acknowledged(data, history)
    operations = copied(history)
    value = data.draw(st.sampled_from(finals_of(operations, partition)))
    (records,) = value["records"]
    del records[2][records[1].index(offset)]
    records[1].remove(offset)
    assert check_log(fixed(history, operations)).counts == {"client-disagreement": 1}


@FEW
@given(SEEDS, st.data())
def test_a_log_cut_off_at_its_end_has_lost_what_was_there(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    partition, offset, _ = one_acknowledged(data, history)
    operations = copied(history)
    for value in finals_of(operations, partition):
        (records,) = value["records"]
        del records[1][offset:], records[2][offset:]
        value["end"] = value["position"] = offset
    assert check_log(fixed(history, operations)).counts["lost-write"] >= 1


@FEW
@given(SEEDS, st.data())
def test_a_doubled_record_is_a_duplicate(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    partition, _, value = one_acknowledged(data, history)

    def double(offsets: list[int], values: list[int]) -> None:
        offsets.append(offsets[-1] + 1)
        values.append(value)

    assert check_log(mutated(history, partition, double)).counts["duplicate"] == 1


@FEW
@given(SEEDS, st.data())
def test_two_swapped_records_are_inconsistent(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    one = one_acknowledged(data, history)
    others = [record for record in acknowledged(history) if record[0] == one[0] and record != one]
    assume(others)
    other = data.draw(st.sampled_from(others))

    def swap(offsets: list[int], values: list[int]) -> None:
        here, there = offsets.index(one[1]), offsets.index(other[1])
        values[here], values[there] = values[there], values[here]

    result = check_log(mutated(history, one[0], swap))
    assert result.counts["inconsistent-offsets"] == 2
    assert result.validity is Validity.INVALID


@FEW
@given(SEEDS, st.data())
def test_a_changed_value_is_a_phantom_and_inconsistent(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    partition, offset, _ = one_acknowledged(data, history)

    def change(offsets: list[int], values: list[Any]) -> None:
        values[offsets.index(offset)] = data.draw(st.sampled_from([10**15, "rubbish", None, [1]]))

    counts = check_log(mutated(history, partition, change)).counts
    assert counts["inconsistent-offsets"] == 1
    assert counts["phantom"] >= 1
    assert counts["lost-write"] == 1


@FEW
@given(SEEDS, st.data())
def test_a_send_that_began_later_breaks_the_order_of_real_time(seed: int, data: st.DataObject) -> None:
    """An operation delayed past the end: everything behind its records was known before it began."""
    history = simulated(seed)
    partition, offset, value = one_acknowledged(data, history)
    behind = [record for record in acknowledged(history) if record[0] == partition and record[1] > offset]
    assume(behind)
    sends = [
        operation
        for operation in history.operations
        if operation.f == "send" and any(entry[1] == value for entry in operation.value)
    ]
    rest = [operation for operation in history.operations if operation not in sends]
    end_ns = rest[-1].time_ns
    late = [msgspec.structs.replace(operation, time_ns=end_ns + 1 + n) for n, operation in enumerate(sends)]
    assert "realtime-order" in check_log(fixed(history, rest + late)).counts


def one_polled(operations: list[Operation], records_min: int, data: st.DataObject) -> Any:
    """Records that a poll returned of one partition: partition, offsets and values."""
    chunks = [
        chunk
        for operation in operations
        if operation.f == "poll" and operation.type is OperationType.OK
        for chunk in operation.value["records"]
        if len(chunk[1]) >= records_min
    ]
    assume(chunks)
    return data.draw(st.sampled_from(chunks))


@FEW
@given(SEEDS, st.data())
def test_a_record_that_a_poll_leaves_out_is_a_skip(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    operations = copied(history)
    chunk = one_polled(operations, 3, data)
    del chunk[1][1], chunk[2][1]
    assert check_log(fixed(history, operations)).counts == {"int-poll-skip": 1}


@FEW
@given(SEEDS, st.data())
def test_records_that_a_poll_returns_out_of_order_are_nonmonotonic(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    operations = copied(history)
    chunk = one_polled(operations, 2, data)
    for column in chunk[1:]:
        column[0], column[1] = column[1], column[0]
    assert "int-nonmonotonic-poll" in check_log(fixed(history, operations)).counts


def compacted(history: History, keys: int, data: st.DataObject) -> History:
    """Remove any records from the final reads that a later one of their key replaces."""
    operations = copied(history)
    setup = operations[0].value
    setup["topics"][0]["config"] = {"cleanup.policy": "compact"}
    setup["workload"]["keys"] = keys
    for operation in operations:
        if operation.f == "final-read" and operation.type is OperationType.OK:
            (records,) = operation.value["records"]
            latest = {value % keys: value for value in records[2]}
            kept = [
                n
                for n, value in enumerate(records[2])
                if latest[value % keys] == value or data.draw(st.booleans())
            ]
            records[1], records[2] = ([column[n] for n in kept] for column in records[1:])
    return fixed(history, operations)


@FEW
@given(SEEDS, st.integers(1, 5), st.data())
def test_a_compacted_log_is_valid_as_long_as_the_latest_of_each_key_is_there(
    seed: int, keys: int, data: st.DataObject
) -> None:
    history = compacted(simulated(seed), keys, data)
    assert check_log(history).validity is Validity.VALID
    partition, offset, value = one_acknowledged(data, history)

    def drop(offsets: list[int], values: list[int]) -> None:
        later = [n for n, other in zip(offsets, values, strict=True) if other % keys == value % keys]
        for gone in later:
            if gone >= offset:
                del values[offsets.index(gone)]
                offsets.remove(gone)

    result = check_log(mutated(history, partition, drop))
    assert result.validity is Validity.INVALID
    assert {anomaly.id for anomaly in result.anomalies if anomaly.illegal} == {"lost-write"}


@FEW
@given(SEEDS, st.data())
def test_a_log_whose_beginning_was_deleted_is_valid_up_to_there(seed: int, data: st.DataObject) -> None:
    history = simulated(seed)
    partition, offset, _ = one_acknowledged(data, history)
    operations = copied(history)
    for value in finals_of(operations, partition):
        (records,) = value["records"]
        kept = [n for n, place in enumerate(records[1]) if place >= offset]
        records[1], records[2] = ([column[n] for n in kept] for column in records[1:])
        value["start"] = offset
    assert check_log(with_deletion(history, operations, partition, offset)).validity is Validity.VALID
    assume((partition, offset - 1) in {record[:2] for record in acknowledged(history)})
    result = check_log(with_deletion(history, operations, partition, offset - 1))
    assert result.validity is Validity.INVALID
    assert result.counts["lost-write"] == 1 + result.figures["legal_anomalies"].get("lost-write", 0)


def with_deletion(history: History, operations: list[Operation], partition: int, below: int) -> History:
    """Put a request to delete the records below an offset before the first final read."""
    first = next(n for n, operation in enumerate(operations) if operation.f == "final-read")
    deletion = [
        Operation(0, operations[first].time_ns, "admin", kind, "delete-records", TOPIC, [[partition, below]])
        for kind in (OperationType.INVOKE, OperationType.OK)
    ]
    together = [*operations[:first], *deletion, *operations[first:]]
    return fixed(history, [msgspec.structs.replace(o, index=n) for n, o in enumerate(together)])


@FEW
@given(SEEDS)
def test_a_history_that_ends_early_is_never_invalid(seed: int) -> None:
    history = simulated(seed)
    for length in range(0, len(history.operations), 7):
        result = check_log(fixed(history, list(history.operations[:length])))
        assert result.validity is Validity.UNKNOWN
        assert set(result.counts) <= {"unseen"}


OFFSETS = st.integers(0, 3)
VALUES = st.integers(1, 4)
PLACES = st.lists(st.tuples(OFFSETS, VALUES), max_size=3)


def _places(places: list[tuple[int, int]]) -> str:
    return " ".join(f"0@{offset}={value}" for offset, value in places)


@st.composite
def tiny_texts(draw: st.DrawFn) -> str:
    """Whatever sends, polls and final reads, true or not, on four offsets and four values."""
    lines = []
    outstanding: dict[int, int] = {}
    for _ in range(draw(st.integers(1, 8))):
        process = draw(st.integers(0, 2))
        kind = draw(st.sampled_from(["send", "send", "poll", "final"]))
        if kind == "poll":
            lines.append(f"r9 poll {_places(draw(PLACES))}")
        elif kind == "final":
            start, end, position = draw(st.tuples(OFFSETS, OFFSETS, OFFSETS))
            lines.append(f"a final 0 {start}..{end}:{position} {_places(draw(PLACES))}")
        elif process in outstanding:
            place = draw(st.sampled_from(["0", "1", "2", "3", "x", "?"]))
            lines.append(f"p{process} < 0@{place}={outstanding.pop(process)}")
        else:
            outstanding[process] = draw(VALUES)
            lines.append(f"p{process} > 0={outstanding[process]}")
    return "\n".join(lines)


@settings(max_examples=400)
@given(tiny_texts())
def test_the_oracle_agrees(text: str) -> None:
    history = history_of(text)
    expected = expected_counts(history)
    found = check_log(history).counts
    compared = ("lost-write", "duplicate", "inconsistent-offsets", "realtime-order", "phantom", "G1a")
    assert {name: found[name] for name in compared if name in found} == expected


@pytest.mark.parametrize("history", [history_of("p0 send 0@0=1\na final 0 0..1 0@0=1")])
def test_witnesses_are_operations_of_the_history(history: History) -> None:
    result = check_log(mutated(history, 0, lambda _, values: values.__setitem__(0, 2)))
    assert result.anomalies
    for anomaly in result.anomalies:
        assert all(NONE < index < len(history.operations) for index in anomaly.witness)
        assert list(anomaly.witness) == sorted(set(anomaly.witness))
