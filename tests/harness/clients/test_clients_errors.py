"""Fail only where nothing was appended for certain; everything else is open."""

import pytest

from checkers.history.operations import OperationType
from harness.clients.errors import TABLE, Appended, ErrorSource, ProduceErrorRule, classify, raised_by_send

FAIL, INFO = OperationType.FAIL, OperationType.INFO
NOT_LEADER, TIMED_OUT, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_AFTER_APPEND = 6, 7, 19, 20


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.source}-{row.name}")
@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_an_error_after_retries_is_always_open(row: ProduceErrorRule, acks: str) -> None:
    assert classify(row.source, row.key, only_attempt=False, acks=acks).outcome is INFO


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.source}-{row.name}")
def test_an_only_attempt_failed_exactly_where_the_table_says_so(row: ProduceErrorRule) -> None:
    outcome = classify(row.source, row.key, only_attempt=True, acks="all").outcome
    assert (outcome is FAIL) == (row.appended is Appended.NO)


def test_every_row_has_its_reason_and_is_the_only_one_of_its_key() -> None:
    assert all(row.reason for row in TABLE)
    assert len({(row.source, row.key) for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize(
    ("code", "acks", "expected"),
    [
        (NOT_ENOUGH_REPLICAS, "all", FAIL),
        (NOT_ENOUGH_AFTER_APPEND, "all", INFO),
        (TIMED_OUT, "1", INFO),
        (NOT_LEADER, "1", FAIL),
        # A leader that steps down while a record waits for replicas answers the same, after appending.
        (NOT_LEADER, "all", INFO),
    ],
)
def test_what_a_broker_means_depends_on_when_it_says_so(
    code: int, acks: str, expected: OperationType
) -> None:
    assert classify(ErrorSource.BROKER, code, only_attempt=True, acks=acks).outcome is expected


@pytest.mark.parametrize("source", ErrorSource)
def test_an_error_nobody_thought_of_is_open(source: ErrorSource) -> None:
    assert classify(source, "Unheard", only_attempt=True, acks="1").outcome is INFO


def test_a_refusal_of_the_call_itself_failed() -> None:
    outcome, reason = raised_by_send("BufferError: queue full")
    assert (outcome, "before anything was sent" in reason) == (FAIL, True)
