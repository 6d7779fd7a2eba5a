"""Replicas of a compacted topic with transactions: the last committed record of a key is on all of them.

As in `test_compacted`, a record's value is its offset, and its key that modulo 4.  Offset 8 has a record of a
transaction, of key 0, and offset 9 its marker.  The record of key 0 before is at 4.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import Batch, replica
from tests.checkers.logs.replicas.test_compacted import (
    ALL,
    COMMITTED,
    FULL,
    cleaned,
    judged,
    kept,
    left,
    out_of_sync,
    read,
)

OUTCOMES = {"commit": OperationType.OK, "abort": OperationType.FAIL, "doubt": OperationType.INFO}
SECOND_NS = 1_000_000_000
ENDS = {"commit": 1, "abort": 0}
WITHOUT_4 = tuple(batch for batch in FULL[:4] if batch.base_offset != 4)


def txn(end: str, *values: int) -> list[Operation]:
    """A transaction whose records stand at the offsets of their values."""
    sends = [["send", "log-0", 0, value] for value in values]
    asked: dict[str, Any] = {"client": "c", "end": "commit", "mops": sends}
    answer = {**asked, "mops": [[*send, send[-1]] for send in sends], "ended": None}
    return [
        Operation(0, 1, "t", OperationType.INVOKE, "txn", "t-0", asked),
        Operation(0, 1, "t", OUTCOMES[end], "txn", "t-0", answer),
    ]


def marked(batches: Sequence[Batch], end: str = "abort", **fields: Any) -> dict[str, Any]:
    """A log that ends with a record of a transaction and its marker."""
    record = left(8, 8, 1, producer_id=9, attributes=0x10)
    marker = Batch(9, producer_id=9, attributes=0x30, control=ENDS[end])
    return replica([*batches, record, marker], **{"log_start": 0, "end": 10, **fields})


def reads(committed: Sequence[int], everything: Sequence[int], *, end: int = 10) -> list[list[Operation]]:
    """Final reads at both isolation levels."""
    return [read(committed, COMMITTED, end=end), read(everything, end=10)]


def found(result: CheckerResult, identity: str) -> list[Anomaly]:
    return [anomaly for anomaly in result.anomalies if anomaly.id == identity]


def test_a_later_record_that_was_aborted_does_not_displace_a_committed_one() -> None:
    logs = (marked(FULL[:4]), marked(WITHOUT_4))
    result = judged(txn("abort", 8), *reads(ALL, (*ALL, 8)), logs=logs)
    (lost,) = found(result, "compacted-away")
    assert lost.subject == "log-0/0@4"
    assert lost.explanation[1] == "The transaction of the later record of its key at offset 8 was aborted."
    assert result.counts == {"compacted-away": 1}


def test_nor_if_it_has_gone_with_its_marker() -> None:
    gone = replica([*WITHOUT_4, left(9, 9, 0)], log_start=0, end=10)
    result = judged(txn("abort", 8), *reads(ALL, (*ALL, 8)), logs=(gone, gone))
    assert [lost.subject for lost in found(result, "compacted-away")] == ["log-0/0@4"] * 2


def test_a_later_record_that_was_committed_does() -> None:
    logs = [marked(WITHOUT_4, "commit")] * 2
    given = (3, 5, 6, 7, 8)
    assert judged(txn("commit", 8), *reads(given, given), logs=logs).validity is Validity.VALID


def test_the_record_of_a_committed_transaction_is_the_last_one_of_its_key() -> None:
    logs = (marked(WITHOUT_4, "commit"), replica([*WITHOUT_4, left(9, 9, 0)], log_start=0, end=10))
    given = (3, 5, 6, 7, 8)
    result = judged(txn("commit", 8), *reads(given, given), logs=logs)
    assert [lost.subject for lost in found(result, "compacted-away")] == ["log-0/0@8"]


def test_an_aborted_record_that_was_returned_as_committed_displaces_nothing() -> None:
    """That it was returned is an anomaly of the log checker, G1a."""
    logs = (marked(FULL[:4]), marked(WITHOUT_4))
    result = judged(txn("abort", 8), *reads((*ALL, 8), (*ALL, 8)), logs=logs)
    assert [lost.subject for lost in found(result, "compacted-away")] == ["log-0/0@4"]


def test_nothing_is_reported_where_a_transaction_was_open_when_the_end_was_listed() -> None:
    logs = [marked(WITHOUT_4, "commit")] * 2
    result = judged(txn("doubt", 8), *reads(ALL, (*ALL, 8), end=8), logs=logs)
    assert (found(result, "compacted-away"), result.figures["keys_compared"]) == ([], 0)


@pytest.mark.parametrize(("retention_ms", "lost"), [("1000", 0), ("3000", 1)])
def test_nothing_is_reported_of_a_key_whose_marker_a_replica_may_have_missed(
    retention_ms: str, lost: int
) -> None:
    logs = (marked(FULL[:4]), marked(WITHOUT_4))
    at_ns = (SECOND_NS * 3, SECOND_NS * 4)
    given = [read(ALL, COMMITTED, at_ns=at_ns, end=10), read((*ALL, 8), at_ns=at_ns, end=10)]
    others = out_of_sync(2 * SECOND_NS)
    result = judged(txn("abort", 8), *given, logs=logs, others=others, retention_ms=retention_ms)
    assert len(found(result, "compacted-away")) == lost


@pytest.mark.parametrize(("keys", "lost"), [(4, 1), (None, 0)])
def test_keys_may_be_unknown(keys: int | None, lost: int) -> None:
    logs = (marked(FULL[:4]), marked(WITHOUT_4))
    at_ns = (SECOND_NS * 3, SECOND_NS * 4)
    given = [read(ALL, COMMITTED, at_ns=at_ns, end=10), read((*ALL, 8), at_ns=at_ns, end=10)]
    others = out_of_sync(2 * SECOND_NS)
    result = judged(txn("abort", 8), *given, logs=logs, others=others, retention_ms="3000", keys=keys)
    assert len(found(result, "compacted-away")) == lost
    judged(txn("abort", 8), *given, logs=logs, others=others, retention_ms="1000", keys=keys)


def test_aborted_records_come_back_for_those_who_read_everything() -> None:
    """No disk shows any more that there was a transaction."""
    log = replica([*FULL[:4], left(9, 9, 0)], log_start=0, end=10)
    later = read((*ALL, 8), at_ns=(4, 5), end=10)
    result = judged(txn("abort", 8), read(ALL, COMMITTED, end=10), later, logs=(log, log))
    assert found(result, "compacted-returned") == []


class TestMarkers:
    """A replica without the marker of the transaction at 8, whose record was cleaned or not."""

    @pytest.mark.parametrize(("count", "missing"), [(1, 1), (0, 0)], ids=["not cleaned", "cleaned"])
    def test_a_marker_stays_as_long_as_records_of_its_transaction(self, count: int, missing: int) -> None:
        lacking = [*FULL[:4], left(8, 8, count, producer_id=9, attributes=0x10), left(9, 9, 0)]
        logs = (marked(FULL[:4]), replica(lacking, log_start=0, end=10))
        result = judged(txn("abort", 8), *reads(ALL, (*ALL, 8)), logs=logs)
        unended = found(result, "transaction-without-marker")
        assert [each.subject for each in unended] == ["log-0/0@8"] * missing
        assert all("a transaction that no marker ends" in each.explanation[1] for each in unended)

    def test_nobody_passed_the_transaction(self) -> None:
        lacking = [*FULL[:4], left(8, 8, 1, producer_id=9, attributes=0x10), left(9, 9, 0)]
        logs = (marked(FULL[:4]), replica(lacking, log_start=0, end=10))
        result = judged(txn("doubt", 8), *reads(ALL, (*ALL, 8), end=8), logs=logs)
        assert found(result, "transaction-without-marker") == []

    @pytest.mark.parametrize(("retention_ms", "missing"), [("1000", 0), ("3000", 1)])
    def test_a_replica_may_have_missed_it(self, retention_ms: str, missing: int) -> None:
        lacking = [*FULL[:4], left(8, 8, 1, producer_id=9, attributes=0x10), left(9, 9, 0)]
        logs = (marked(FULL[:4]), replica(lacking, log_start=0, end=10))
        at_ns = (SECOND_NS * 3, SECOND_NS * 4)
        given = [read(ALL, COMMITTED, at_ns=at_ns, end=10), read((*ALL, 8), at_ns=at_ns, end=10)]
        others = out_of_sync(2 * SECOND_NS)
        result = judged(txn("abort", 8), *given, logs=logs, others=others, retention_ms=retention_ms)
        assert len(found(result, "transaction-without-marker")) == missing


class TestTombstones:
    """Every second record of a key is a tombstone: of key 0 those at 4 and 12, of key 1 those at 5 and 13."""

    LOG = (left(0, 3, 4), left(5, 7, 3))
    """The tombstone at 4 is gone, and the record at 0 is there."""

    @pytest.mark.parametrize(("end", "back"), [("commit", 1), ("doubt", 0), ("abort", 0)])
    def test_one_deletes_a_key_if_it_certainly_was_committed(self, end: str, back: int) -> None:
        log = replica([*self.LOG, left(9, 9, 0)], log_start=0, end=10)
        given = (0, 1, 2, 3, 5, 6, 7)
        result = judged(
            txn(end, 4), *reads(given, given), logs=(log, log), tombstones=2, retention_ms="86400000"
        )
        assert len(found(result, "deleted-key-returned")) == 2 * back

    def test_a_later_record_that_was_aborted_does_not_bring_a_key_back(self) -> None:
        log = replica([*self.LOG, left(9, 9, 0)], log_start=0, end=10)
        given = (0, 1, 2, 3, 5, 6, 7)
        sent = [(4, 1)]
        result = judged(txn("abort", 8), *reads(given, given), logs=(log, log), tombstones=2, sent=sent)
        assert [back.subject for back in found(result, "deleted-key-returned")] == ["log-0/0@0"] * 2

    @pytest.mark.parametrize(("end", "lost"), [("abort", 1), ("commit", 0), ("doubt", 0)])
    def test_an_aborted_one_deletes_nothing_on_any_replica(self, end: str, lost: int) -> None:
        """A tombstone of key 0 at 12, sent longer ago than tombstones are kept."""
        batches = [left(0, 3, 4), left(5, 8, 4), left(13, 13, 0)]
        whole, lacking = (
            replica(some, log_start=0, end=14) for some in (batches, [left(1, 3, 3), *batches[1:]])
        )
        given = (0, 1, 2, 3, 5, 6, 7)
        both = [read(given, COMMITTED, end=14), read(given, end=14)]
        result = judged(txn(end, 12), *both, logs=(whole, lacking), tombstones=2, retention_ms="0")
        assert len(found(result, "compacted-away")) == lost


class TestCleanings:
    """Record 1 of key 1 is followed by 5; brokers cleaned up to 4, or the active segment begins at 5."""

    WHOLE = (left(0, 7, 8),)
    LACKING = (left(0, 0, 1), left(2, 7, 6))
    GIVEN = tuple(range(8))

    def judged(self, end: str, *values: int, cleaned_to: int = 4) -> CheckerResult:
        marker = Batch(9, producer_id=9, attributes=0x30, control=0)
        logs = [replica([*some, marker], log_start=0, end=10) for some in (self.WHOLE, self.LACKING)]
        cleanings = cleaned(cleaned_to)
        return judged(txn(end, *values), *reads(self.GIVEN, self.GIVEN), logs=logs, cleaned=cleanings)

    def test_records_are_judged_beside_transactions(self) -> None:
        result = self.judged("abort", 8)
        assert [early.subject for early in found(result, "compacted-early")] == ["log-0/0@1"]

    @pytest.mark.parametrize(("end", "early"), [("abort", 1), ("commit", 0), ("doubt", 0)])
    def test_an_aborted_record_replaces_nothing(self, end: str, early: int) -> None:
        """The record at 5 may have been cleaned, and the next one of its key, at 9, was not."""
        marker = Batch(11, producer_id=9, attributes=0x30, control=0)
        some = [[left(0, 10, 11), marker], [left(0, 0, 1), left(2, 10, 9), marker]]
        logs = [replica(each, log_start=0, end=12) for each in some]
        committed = [offset for offset in range(11) if offset != 5 or end == "commit"]
        both = [read(committed, COMMITTED, end=12), read(range(11), end=12)]
        result = judged(txn(end, 5), *both, logs=logs, cleaned=cleaned(6))
        assert len(found(result, "compacted-early")) == early

    @pytest.mark.parametrize(("end", "early"), [("commit", 1), ("doubt", 0), ("abort", 0)])
    def test_a_record_is_due_if_it_certainly_was_committed(self, end: str, early: int) -> None:
        marker = Batch(9, producer_id=9, attributes=0x30, control=1)
        logs = [replica([*self.LACKING, marker], log_start=0, end=10)] * 2
        given = (0, *range(2, 8))
        result = judged(txn(end, 1), *reads(given, given), logs=logs, cleaned=cleaned(4))
        assert len(found(result, "compacted-early")) == 2 * early

    def test_an_aborted_tombstone_was_nowhere(self) -> None:
        """That of key 1 at 21 would leave out the key if it was unknown what became of it."""
        aborted = txn("abort", 21)
        aborted[1].value["mops"] = [["send", "log-0", 0, 21, None]]
        log = kept(
            [left(0, 7, 7), Batch(9, producer_id=9, attributes=0x30, control=0)], (0, 2, 3, 4, 5, 6, 7)
        )
        log["end"] = 10
        result = judged(
            aborted, *reads(self.GIVEN, self.GIVEN), logs=(log, log), tombstones=3, cleaned=cleaned(4)
        )
        assert len(found(result, "compacted-early")) == 2

    def test_a_key_is_left_out_if_a_replica_may_have_missed_a_marker(self) -> None:
        marker = Batch(9, producer_id=9, attributes=0x30, control=0)
        logs = [replica([*some, marker], log_start=0, end=10) for some in (self.WHOLE, self.LACKING)]
        at_ns = (SECOND_NS * 3, SECOND_NS * 4)
        given = [read(self.GIVEN, level, at_ns=at_ns, end=10) for level in (COMMITTED, "read_uncommitted")]
        others = out_of_sync(2 * SECOND_NS)
        for value, early in ((9, 0), (8, 1)):
            result = judged(
                txn("abort", value), *given, logs=logs, others=others, retention_ms="1000", cleaned=cleaned(4)
            )
            assert len(found(result, "compacted-early")) == early
