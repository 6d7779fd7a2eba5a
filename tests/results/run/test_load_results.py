"""Loads: every form in which a history has records is counted record by record."""

from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from results.run.load_results import answer, requested_records

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE


def operation(kind: OperationType, f: str, value: Any) -> Operation:
    return Operation(0, 0, 1, kind, f, "t", value)


STRETCH = {"partition": 3, "first": 7, "count": 500}
SENDS = [["send", "a", 0, 1, 10], ["offsets", "g", "in", [[0, 4]]], ["send", "b", 2, 2, None]]


@pytest.mark.parametrize(
    ("f", "value", "count"),
    [
        ("send", [[0, 1], [1, 2]], 2),
        ("send", STRETCH, 500),
        ("txn", {"mops": SENDS}, 2),
        ("write", 5, 0),
    ],
)
def test_what_is_asked_is_counted_by_the_record(f: str, value: Any, count: int) -> None:
    assert requested_records(operation(INVOKE, f, value)) == count


def test_a_batch_is_counted_by_the_record() -> None:
    load = answer(operation(INFO, "send", [[0, 1, 9, "ok"], [0, 2, None, "info"], [1, 3]]))
    assert load.outcomes == {"ok": 1, "info": 1}
    assert load.acks == [("t", 0, 1)]


def test_a_stretch_is_acknowledged_as_a_whole_or_not_counted() -> None:
    load = answer(operation(OK, "send", {**STRETCH, "offsets": [[0, 500]]}))
    assert (load.outcomes, load.acks) == ({"ok": 500}, [("t", 3, 500)])
    assert answer(operation(INFO, "send", STRETCH)) == ({}, [])


@pytest.mark.parametrize(("kind", "acks"), [(OK, [("a", 0, 1), ("b", 2, 1)]), (FAIL, []), (INFO, [])])
def test_records_of_a_transaction_share_its_fate(kind: OperationType, acks: list[Any]) -> None:
    load = answer(operation(kind, "txn", {"mops": SENDS}))
    assert (load.outcomes, load.acks) == ({kind.value: 2}, acks)


def test_a_register_has_no_records() -> None:
    assert answer(operation(OK, "write", 5)) == ({}, [])
