"""Replicas of a topic that the final readers leave out are compared up to the end that its own reader saw."""

from collections.abc import Sequence

import pytest

from checkers.history.operations import FAIL, INVOKE, OK, Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    TOPIC_ID,
    Batch,
    final_read,
    history_of,
    observed,
    recovered,
    replica,
)

TOPIC = "log-0"
LOG = [Batch(0, 2, crc=11), Batch(2, 1, crc=12)]
QUEUE = {"name": TOPIC, "topic_id": TOPIC_ID, "partitions": 1, "loaded": False, "read": False}


def letters_read(end: int, kind: OperationType = OK) -> Operation:
    """The queue was read up to this end; its records are of no interest here."""
    asked = {"group": "share-0", "partition": 0}
    value = asked | {"end": end, "records": []} if kind is OK else asked
    return Operation(0, 1, "letters", kind, "dead-letters", TOPIC, value)


def judged(other: Sequence[Batch], *ends: Operation) -> CheckerResult:
    """The verdict on two replicas of the queue, one with this log."""
    logs = [observed("n1", replica(LOG)), observed("n2", replica(other))]
    return check_replicas(history_of(recovered((1, 2)), *ends, *logs, setup={"topics": [QUEUE]}))


@pytest.mark.parametrize(
    ("other", "counts"),
    [
        (LOG, {}),
        ([LOG[0], LOG[1]._replace(crc=99)], {"replica-divergence": 1}),
        (LOG[:1], {"short-replica": 1}),
    ],
)
def test_replicas_of_a_queue_are_compared_up_to_the_end_that_its_reader_saw(
    other: Sequence[Batch], counts: dict[str, int]
) -> None:
    result = judged(other, letters_read(3))
    assert (result.counts, result.figures["partitions_compared"]) == (counts, 1)
    assert result.validity is (Validity.INVALID if counts else Validity.VALID)


def test_what_is_behind_that_end_may_differ() -> None:
    assert judged(LOG[:1], letters_read(2)).validity is Validity.VALID


def test_the_highest_end_counts() -> None:
    for ends in ([3, 2], [2, 3]):
        assert judged(LOG[:1], *map(letters_read, ends)).validity is Validity.INVALID
    assert judged(LOG[:1], final_read(2), letters_read(3)).validity is Validity.INVALID


@pytest.mark.parametrize("ends", [[], [letters_read(3, INVOKE)], [letters_read(3, FAIL)]])
def test_a_queue_that_was_not_read_is_not_compared(ends: list[Operation]) -> None:
    result = judged(LOG, *ends)
    assert result.validity is Validity.UNKNOWN
    assert str(result.unknown_because).startswith("the history does not have the committed end of log-0/0")


def end_listed(start: int, end: int, kind: OperationType = OK) -> Operation:
    """The start and the end of the partition were requested."""
    value = {"partition": 0, "start": start, "end": end} if kind is OK else {"partition": 0}
    return Operation(0, 1, "reader", kind, "list-end", TOPIC, value)


@pytest.mark.parametrize(("end", "counts"), [(3, {"short-replica": 1}), (2, {})])
def test_replicas_of_a_topic_are_compared_up_to_a_listed_end(end: int, counts: dict[str, int]) -> None:
    assert judged(LOG[:1], end_listed(0, end)).counts == counts


def test_an_end_that_nobody_listed_is_missing() -> None:
    assert judged(LOG, end_listed(0, 3, FAIL)).validity is Validity.UNKNOWN
