"""A compacted topic of which nothing vanished has not tried compaction."""

from typing import Any

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.runs.assumptions import check_assumptions
from checkers.verdict.verdict import Assumption
from tests.checkers.conftest import SETUP

COMPACTED = {"name": "c-0", "partitions": 2, "replication_factor": 3, "config": {"cleanup.policy": "compact"}}
OTHER = {"name": "log-0", "partitions": 2, "replication_factor": 3}
Final = tuple[str, str, list[int]]
"""Topic and client of a final read, and the offsets that it found in one partition."""


def sent(topic: str, count: int) -> list[Operation]:
    invoked = [[0, value] for value in range(count)]
    acked = [[0, value, value, "ok"] for value in range(count)]
    return [
        Operation(0, 0, 0, OperationType.INVOKE, "send", topic, invoked),
        Operation(0, 0, 0, OperationType.OK, "send", topic, acked),
    ]


def read(
    topic: str, client: str, offsets: list[int], kind: OperationType, isolation: str = "read_committed"
) -> Operation:
    records = [[0, offsets, offsets]] if offsets else []
    value = {"client": client, "isolation": isolation, "partition": 0, "records": records}
    if kind is OperationType.OK:
        value |= {"start": 0, "end": 8, "position": 8}
    return Operation(0, 0, 1, kind, "final-read", topic, value)


def judged(
    *reads: Final, topics: tuple[dict[str, Any], ...] = (COMPACTED,), kind: OperationType = OperationType.OK
) -> Assumption | None:
    setup = Operation(0, 0, "runner", OperationType.OK, "setup", None, SETUP | {"topics": list(topics)})
    finals = [read(*each, kind) for each in reads]
    operations = [setup, *(o for topic in topics for o in sent(str(topic["name"]), 5)), *finals]
    history = History("run", "2023-11-14T22:13:20Z", tuple(operations))
    found = [each for each in check_assumptions(history).assumptions if each.name == "compaction-ran"]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("reads", "met", "observed"),
    [
        ([("c-0", "a", [3, 4])], True, "c-0: 3 fewer"),
        ([("c-0", "a", [0, 1]), ("c-0", "a", [3, 4])], True, "c-0: 1 fewer"),
        ([("c-0", "a", [])], True, "c-0: 5 fewer"),
        ([("c-0", "a", [0, 1, 2, 3, 4])], False, "c-0: 0 fewer"),
        ([("c-0", "a", [3, 4]), ("c-0", "b", [0, 1, 2, 3, 4])], False, "c-0: 0 fewer"),
        ([], False, "c-0: not read"),
        ([("log-0", "a", [3])], False, "c-0: not read"),
    ],
)
def test_fewer_records_than_were_acknowledged_are_needed(
    reads: list[Final], observed: str, *, met: bool
) -> None:
    assumption = judged(*reads)
    assert assumption is not None
    assert (assumption.met, assumption.observed) == (met, observed)


def test_a_read_that_did_not_end_proves_nothing() -> None:
    assumption = judged(("c-0", "a", [3]), kind=OperationType.INFO)
    assert assumption is not None
    assert assumption.observed == "c-0: not read"


def test_each_compacted_topic_is_asked_for() -> None:
    assumption = judged(
        ("c-0", "a", [4]), ("c-1", "a", [0, 1, 2, 3, 4]), topics=(COMPACTED, {**COMPACTED, "name": "c-1"})
    )
    assert assumption is not None
    assert (assumption.met, assumption.observed) == (False, "c-0: 4 fewer, c-1: 0 fewer")


def aborted(
    offset: int | None,
    transactors: int,
    *,
    kind: OperationType = OperationType.FAIL,
    isolation: str = "read_uncommitted",
) -> Assumption | None:
    """Judge a run with a transaction whose record had an offset; final reads found record 4 alone."""
    setup = SETUP | {"topics": [COMPACTED], "workload": {"transactors": transactors}}
    transaction = {"client": "a", "end": "abort", "mops": [["send", "c-0", 0, 9]]}
    ended = {**transaction, "mops": [["send", "c-0", 0, 9, offset]], "ended": None}
    operations = (
        Operation(0, 0, "runner", OperationType.OK, "setup", None, setup),
        Operation(0, 0, 0, OperationType.INVOKE, "txn", "t", transaction),
        Operation(0, 0, 0, kind, "txn", "t", ended),
        read("c-0", "a", [], OperationType.INVOKE, isolation),
        read("c-0", "a", [4], OperationType.OK, isolation),
    )
    history = History("run", "2023-11-14T22:13:20Z", operations)
    found = [each for each in check_assumptions(history).assumptions if each.name == "aborted-compacted"]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("offset", "kind", "observed"),
    [
        (7, OperationType.FAIL, "1 of 1 removed"),
        (None, OperationType.FAIL, "0 of 0 removed"),
        (7, OperationType.INFO, "0 of 0 removed"),
    ],
)
def test_a_record_of_an_aborted_transaction_must_have_been_removed(
    offset: int | None, kind: OperationType, observed: str
) -> None:
    assumption = aborted(offset, 2, kind=kind)
    assert assumption is not None
    assert (assumption.met, assumption.observed) == (observed.startswith("1"), observed)


def test_a_reader_of_committed_records_proves_nothing_about_aborted_ones() -> None:
    assumption = aborted(7, 2, isolation="read_committed")
    assert assumption is not None
    assert (assumption.met, assumption.observed) == (False, "0 of 0 removed")


def test_without_transactors_none_is_asked_for() -> None:
    assert aborted(7, 0) is None


def test_other_topics_are_not_asked_for() -> None:
    assert judged(("log-0", "a", [1]), topics=(OTHER,)) is None
