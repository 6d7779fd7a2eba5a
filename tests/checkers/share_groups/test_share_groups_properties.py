"""What holds of every share group: correct ones are valid, each defect is found as what it is."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.history.operations import History, Operation
from checkers.share_groups import check_share_groups
from checkers.share_groups.earlier_rows import codes_of, highest_before
from checkers.verdict.verdict import Validity
from tests.checkers.share_groups.share_histories import value_at
from tests.checkers.share_groups.share_simulator import RECORDS, Defects, Simulation

SEEDS = st.integers(0, 2**32)
STEPS = 150
SHOWN_MIN = 20
"""Of 60 simulations with a defect, how many show it at least."""
AGAIN = {"acknowledged-twice", "delivered-after-acknowledgement"}
SOME = settings(max_examples=60, deadline=None)


@SOME
@given(SEEDS, st.integers(60, 300))
def test_a_correct_group_is_valid(seed: int, steps: int) -> None:
    result = check_share_groups(Simulation(seed, steps).history())
    assert (result.validity, result.counts) == (Validity.VALID, {})


@SOME
@given(SEEDS, st.integers(60, 300))
def test_a_correct_group_of_committed_records_is_valid(seed: int, steps: int) -> None:
    result = check_share_groups(Simulation(seed, steps, transactions=True).history())
    # A short run may lack acceptances that brokers confirmed; that is an assumption of its own.
    assert (result.counts, result.unknown_because) == ({}, None)


@pytest.mark.parametrize("defects", [Defects(gives_aborted=True), Defects(gives_open=True)])
def test_a_record_that_is_not_committed_is_found_as_such(defects: Defects) -> None:
    found = 0
    for seed in range(60):
        simulation = Simulation(seed, STEPS, defects, transactions=True)
        result = check_share_groups(simulation.history())
        assert set(result.counts) <= {"share-uncommitted-read"}
        assert simulation.harmed or result.validity is Validity.VALID
        found += result.validity is Validity.INVALID
    assert found >= SHOWN_MIN


@pytest.mark.parametrize(
    ("defects", "allowed"),
    [
        (Defects(forgets_accepts=True), {*AGAIN, "too-many-deliveries"}),
        (Defects(forgets_counts=True), {"delivery-count-lost"}),
        (Defects(gives_twice=True), {*AGAIN, "acquired-twice", "delivery-count-lost"}),
        (Defects(skips=True), {"share-undelivered"}),
        (Defects(ignores_limit=True), {"too-many-deliveries"}),
        (
            Defects(goes_back=True),
            {*AGAIN, "share-start-went-back", "delivery-count-lost"},
        ),
    ],
    ids=["forgets accepts", "forgets counts", "gives twice", "skips", "ignores the limit", "goes back"],
)
def test_a_defect_is_found_as_what_it_is(defects: Defects, allowed: set[str]) -> None:
    found = 0
    for seed in range(60):
        simulation = Simulation(seed, STEPS, defects)
        result = check_share_groups(simulation.history())
        assert set(result.counts) <= allowed
        assert simulation.harmed or result.validity is Validity.VALID
        found += result.validity is Validity.INVALID
    assert found >= SHOWN_MIN


def _changed(history: History, operation: Operation, value: Any) -> History:
    operations = list(history.operations)
    operations[operation.index] = msgspec.structs.replace(operation, value=value)
    return msgspec.structs.replace(history, operations=tuple(operations))


@SOME
@given(SEEDS, st.data())
def test_a_record_that_is_taken_out_of_the_only_poll_that_returned_it(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, STEPS).history()
    polls = [o for o in history.of("share-poll") if o.type == "ok" and o.value["records"]]
    times: dict[int, list[Operation]] = {}
    for operation in polls:
        for offset in operation.value["records"][0][1]:
            times.setdefault(offset, []).append(operation)
    once = sorted(offset for offset, some in times.items() if len(some) == 1)
    assume(once)
    offset = data.draw(st.sampled_from(once))
    (operation,) = times[offset]
    partition, *columns = operation.value["records"][0]
    at = columns[0].index(offset)
    kept = [[*column[:at], *column[at + 1 :]] for column in columns]
    changed = _changed(history, operation, operation.value | {"records": [[partition, *kept]]})
    assert check_share_groups(changed).counts == {"share-undelivered": 1}


@SOME
@given(SEEDS, st.data())
def test_a_delivery_count_that_is_raised_above_the_limit(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, STEPS).history()
    polls = [o for o in history.of("share-poll") if o.type == "ok" and o.value["records"]]
    operation = data.draw(st.sampled_from(polls))
    (partition, offsets, values, counts) = operation.value["records"][0]
    raised = [partition, offsets, values, [counts[0] + 5, *counts[1:]]]
    changed = _changed(history, operation, operation.value | {"records": [raised]})
    assert check_share_groups(changed).counts["too-many-deliveries"] == 1


@SOME
@given(SEEDS, st.data())
def test_a_value_that_is_replaced(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, STEPS).history()
    polls = [o for o in history.of("share-poll") if o.type == "ok" and o.value["records"]]
    operation = data.draw(st.sampled_from(polls))
    (partition, offsets, values, counts) = operation.value["records"][0]
    other = data.draw(st.sampled_from((value_at(RECORDS - 1 - offsets[0]), 1)))
    assume(other != values[0])
    changed = _changed(
        history,
        operation,
        operation.value | {"records": [[partition, offsets, [other, *values[1:]], counts]]},
    )
    found = check_share_groups(changed).counts
    assert found["share-phantom" if other == 1 else "share-wrong-record"] == 1


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(-3, 3)), max_size=12)


@given(ROWS, st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10)), max_size=8))
def test_the_highest_before_is_what_search_finds(
    rows: list[tuple[int, int, int]], questions: list[tuple[int, int]]
) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    asked, before = np.array(questions, np.int64).reshape(-1, 2).T
    found = highest_before(columns[0], columns[1], columns[2], asked, before)
    for (code, place), row in zip(questions, found.tolist(), strict=True):
        heights = [(height, i) for i, (of, at, height) in enumerate(rows) if of == code and at < place]
        assert row == max(heights, default=(0, -1))[1]


@given(ROWS)
def test_codes_are_in_the_order_of_the_rows(rows: list[tuple[int, int, int]]) -> None:
    codes = codes_of(*np.array(rows, np.int64).reshape(-1, 3).T).tolist()
    order = sorted(set(rows))
    assert codes == [order.index(row) for row in rows]
