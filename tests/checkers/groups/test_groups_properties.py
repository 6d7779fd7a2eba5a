"""What holds of every group: correct ones are valid, each defect and mutation is found as what it is."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from checkers.groups import check_groups
from checkers.history.operations import History, Operation, OperationType
from checkers.judge import known_anomalies
from checkers.verdict.verdict import Validity
from tests.checkers.groups.group_simulator import Defects, Simulation

SEEDS = st.integers(0, 2**32)
STEPS = 60
SHOWN_MIN = 20
"""Of 60 simulations with a defect, how many show it at least."""
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
Type = OperationType


@SOME
@given(SEEDS, st.integers(0, 120))
def test_a_correct_group_is_valid(seed: int, steps: int) -> None:
    result = check_groups(Simulation(seed, steps).history())
    assert (result.validity, result.counts) == (Validity.VALID, {})


@pytest.mark.parametrize(
    ("defects", "allowed"),
    [
        (Defects(no_fencing=True), {"zombie-commit", "committed-offset-lost", "undelivered"}),
        (Defects(loses_commits=True), {"committed-offset-lost"}),
        (Defects(skips=True), {"committed-offset-lost", "undelivered"}),
        (Defects(two_owners=True), {"two-owners"}),
    ],
    ids=["no fencing", "loses commits", "skips", "two owners"],
)
def test_a_defect_is_found_as_what_it_is(defects: Defects, allowed: set[str]) -> None:
    found = 0
    for seed in range(60):
        simulation = Simulation(seed, STEPS, defects)
        result = check_groups(simulation.history())
        assert set(result.counts) <= allowed
        if not simulation.harmed:
            assert result.validity is Validity.VALID
        assert result.counts.get("zombie-commit", 0) == simulation.zombies
        if defects.two_owners:
            assert ("two-owners" in result.counts) == bool(simulation.harmed)
        found += result.validity is Validity.INVALID
    # What a defect did can be hidden: by a later commit, or because nobody got an answer.
    assert found >= SHOWN_MIN


@SOME
@given(SEEDS, st.data())
def test_a_record_that_is_taken_out_of_the_only_poll_that_returned_it(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, STEPS).history()
    chunks = _chunks(history)
    times: dict[tuple[int, int], int] = {}
    for _, partition, offsets in chunks:
        for offset in offsets:
            times[partition, offset] = times.get((partition, offset), 0) + 1
    once = sorted(place for place, count in times.items() if count == 1)
    assume(once)
    partition, offset = data.draw(st.sampled_from(once))

    mutated = _changed(history, "poll", lambda value: _without(value, partition, offset))
    result = check_groups(mutated)
    last = max(o for _, p, offsets in chunks if p == partition for o in offsets)
    if offset == last and result.validity is Validity.VALID:
        return  # nobody is known to have gone past the last record
    assert result.counts == {"undelivered": 1}


@SOME
@given(SEEDS, st.data())
def test_a_commit_that_was_answered_as_refused_explains_no_beginning(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, STEPS).history()
    begun = {
        (partition, start)
        for operation in history.operations
        if operation.f == "poll" and operation.type is Type.OK
        for partition, start in operation.value.get("assigned") or ()
        if start
    }
    assume(begun)
    place = data.draw(st.sampled_from(sorted(begun)))

    def refused(operation: Operation) -> Operation:
        if operation.f != "commit" or operation.type is Type.INVOKE:
            return operation
        covers = list(place) in operation.value["offsets"]
        return msgspec.structs.replace(operation, type=Type.FAIL) if covers else operation

    mutated = msgspec.structs.replace(history, operations=tuple(map(refused, history.operations)))
    assert "committed-offset-lost" in check_groups(mutated).counts


@SOME
@given(SEEDS, st.data())
def test_a_beginning_that_goes_back_is_found(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, STEPS).history()
    polls = [
        operation.index
        for operation in history.operations
        if operation.f == "poll" and any(start for _, start in (operation.value.get("assigned") or ()))
    ]
    assume(polls)
    at = data.draw(st.sampled_from(polls))
    value = history.operations[at].value
    back = {
        **value,
        "assigned": [[partition, start and -1 + start] for partition, start in value["assigned"]],
    }
    operations = list(history.operations)
    operations[at] = msgspec.structs.replace(operations[at], value=back)

    counts = check_groups(msgspec.structs.replace(history, operations=tuple(operations))).counts
    committed = {tuple(pair) for o in operations[:at] if o.f == "commit" for pair in o.value["offsets"]}
    if any(tuple(pair) not in committed and pair[1] for pair in back["assigned"]):
        assert "committed-offset-lost" in counts


@SOME
@given(SEEDS)
def test_a_history_that_ends_anywhere_is_judged_without_a_false_alarm(seed: int) -> None:
    history = Simulation(seed, STEPS).history()
    for length in range(0, len(history.operations), 17):
        cut = msgspec.structs.replace(history, operations=history.operations[:length])
        assert check_groups(cut).counts == {}


def test_every_kind_is_known_to_the_judge() -> None:
    wanted = {"undelivered", "committed-offset-lost", "zombie-commit", "two-owners", "rebalance-stuck"}
    assert wanted <= set(known_anomalies())


def _chunks(history: History) -> list[tuple[int, int, list[int]]]:
    """Position of the poll, partition and offsets of all that polls returned."""
    return [
        (operation.index, partition, offsets)
        for operation in history.operations
        if operation.f == "poll" and operation.type is Type.OK
        for partition, offsets, _ in operation.value["records"]
    ]


def _without(value: dict[str, Any], partition: int, offset: int) -> dict[str, Any]:
    def kept(chunk: list[Any]) -> list[Any]:
        if chunk[0] != partition or offset not in chunk[1]:
            return chunk
        at = chunk[1].index(offset)
        return [partition, chunk[1][:at] + chunk[1][at + 1 :], chunk[2][:at] + chunk[2][at + 1 :]]

    return {**value, "records": list(map(kept, value["records"]))}


def _changed(history: History, f: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> History:
    operations = tuple(
        msgspec.structs.replace(operation, value=change(operation.value))
        if operation.f == f and operation.type is Type.OK
        else operation
        for operation in history.operations
    )
    return msgspec.structs.replace(history, operations=operations)
