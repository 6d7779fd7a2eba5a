"""Replicas of a compacted topic: what cleaning explains, and what it does not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from checkers.history.operations import Operation, OperationType
from checkers.history.packing import pack
from checkers.history.replicas import COLUMN_TYPES
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    TOPIC_ID,
    Batch,
    history_of,
    leads,
    metadata,
    observed,
    recovered,
    replica,
)

INVOKE, OK = OperationType.INVOKE, OperationType.OK
COMPACTED = {"name": "log-0", "topic_id": TOPIC_ID, "partitions": 1, "config": {"cleanup.policy": "compact"}}
KEYS = 4
"""A record's value is its offset, and its key that modulo this."""
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"


class Span(Batch):
    """A batch that has lost records: it ends where it ended before."""

    last: int

    @property
    def last_offset(self) -> int:
        return self.last


def left(base: int, last: int, count: int, **fields: Any) -> Batch:
    """What cleaning left of a batch."""
    batch = Span(base, count, **{"producer_id": 7, "base_sequence": base, **fields})
    batch.last = last
    return batch


FULL = (left(0, 3, 1), left(4, 4, 1), left(5, 6, 2), left(7, 7, 1), left(8, 8, 0))
ALL = (3, 4, 5, 6, 7)
"""What is left: of every key the last record, and of one the record before."""


def read(
    offsets: Sequence[int] = ALL,
    isolation: str = UNCOMMITTED,
    *,
    at_ns: tuple[int, int] = (2, 3),
    end: int = 9,
) -> list[Operation]:
    """A final read between two times, that came to the end of the log."""
    asked = {"client": "c", "isolation": isolation, "partition": 0}
    answer = {
        **asked,
        "start": 0,
        "end": end,
        "position": end,
        "records": [[0, list(offsets), list(offsets)]],
    }
    who = f"reader-{isolation}-{at_ns}"
    return [
        Operation(0, at_ns[0], who, INVOKE, "final-read", "log-0", asked),
        Operation(0, at_ns[1], who, OK, "final-read", "log-0", answer),
    ]


def sending(offset: int, at_ns: int, outcome: str = "ok", *, placed: bool = True) -> list[Operation]:
    """The sending of the record that stands at an offset, begun and acknowledged at a time."""
    asked, answer = [[0, offset]], [[0, offset, offset if placed else None, outcome]]
    return [
        Operation(0, at_ns, offset, INVOKE, "send", "log-0", asked),
        Operation(0, at_ns, offset, OK, "send", "log-0", answer),
    ]


def elected(*leaders: int, unclean: bool = False) -> list[Operation]:
    """A metadata log in which the partition has leaders, one after the other; nobody knows when."""
    partition = {"partitionId": 0, "topicId": TOPIC_ID, "leader": leaders[0], "isr": [1, 2]}
    made = partition | {"replicas": [1, 2], "leaderEpoch": 0, "partitionEpoch": 0}
    records: list[list[Any]] = [
        [0, 1, "TOPIC_RECORD", {"name": "log-0", "topicId": TOPIC_ID}],
        [1, 1, "PARTITION_RECORD", made],
    ]
    for offset, leader in enumerate(leaders[1:], start=2):
        recovery = {"isr": [leader], "leaderRecoveryState": 1} if unclean else {}
        records += [[offset, 1, "PARTITION_CHANGE_RECORD", {**partition, "leader": leader, **recovery}]]
    return [observed("n1", metadata([Batch(0, len(records))], records=records)), leads("n1", 2)]


def out_of_sync(for_ns: int) -> list[Operation]:
    """A metadata log in which the leader, n1, had been out of sync for so long at most."""
    partition = {"partitionId": 0, "topicId": TOPIC_ID}
    made = partition | {"leader": 2, "isr": [1, 2], "replicas": [1, 2], "leaderEpoch": 0, "partitionEpoch": 0}
    records: list[list[Any]] = [
        [0, 1, "TOPIC_RECORD", {"name": "log-0", "topicId": TOPIC_ID}],
        [1, 1, "PARTITION_RECORD", made],
        [2, 1, "PARTITION_CHANGE_RECORD", {**partition, "isr": [2]}],
        [3, 1, "PARTITION_CHANGE_RECORD", {**partition, "leader": 2}],
        [4, 1, "PARTITION_CHANGE_RECORD", {**partition, "isr": [1, 2]}],
        [5, 1, "PARTITION_CHANGE_RECORD", {**partition, "leader": 1}],
    ]
    back = leads("n1", 6)
    return [
        observed("n1", metadata([Batch(0, len(records))], records=records)),
        Operation(0, for_ns, back.process, OK, "observe", "quorum", back.value, node="n1"),
    ]


def judged(
    *reads: list[Operation],
    logs: Sequence[Any] = (FULL, FULL),
    others: Sequence[Operation] | None = None,
    keys: int | None = KEYS,
    acks: str = "all",
    tombstones: int = 0,
    retention_ms: str | None = None,
    sent: Sequence[tuple[int, int]] = (),
    cleaned: Sequence[Operation] = (),
    setup: Mapping[str, Any] | None = None,
) -> CheckerResult:
    """Judge a partition whose leader is n1, with n2 in sync."""
    workload = {"acks": acks, "tombstones": tombstones, **({"keys": keys} if keys else {})}
    config = {"cleanup.policy": "compact", **({"delete.retention.ms": retention_ms} if retention_ms else {})}
    sends = [operation for offset, at_ns in sent for operation in sending(offset, at_ns)]
    read_operations = [operation for each in reads for operation in each]
    disks = [
        observed(f"n{number}", log if isinstance(log, dict) else replica(log, log_start=0, end=9))
        for number, log in enumerate(logs, start=1)
    ]
    first = elected(1) if others is None else others
    meant = {"topics": [COMPACTED | {"config": config}], "workload": workload, **(setup or {})}
    done = (*first, *sends, recovered((1, 2)), *read_operations, *disks, *cleaned)
    return check_replicas(history_of(*done, setup=meant))


def test_a_run_without_an_error_is_valid() -> None:
    result = judged(read(ALL), read(ALL, COMMITTED))
    assert result.validity is Validity.VALID
    assert result.figures["compacted_batches_compared"] == len(FULL)
    assert result.figures["keys_compared"] == 2 * KEYS
    assert result.figures["final_reads_compared"] == 2


class TestAgainstEachOther:
    @pytest.mark.parametrize(
        "other",
        [
            (left(4, 4, 1), left(5, 6, 2), left(7, 7, 1)),
            (left(0, 3, 2, crc=5), left(4, 4, 1), left(5, 6, 2), left(7, 7, 1), left(8, 8, 0)),
            (left(0, 3, 1, attributes=0x40, crc=5), *FULL[1:]),
            (left(0, 3, 1), left(4, 4, 1), left(5, 6, 2), left(7, 7, 1)),
        ],
    )
    def test_what_each_has_cleaned_may_differ(self, other: Sequence[Batch]) -> None:
        assert judged(read(ALL), logs=(FULL, other)).validity is Validity.VALID

    def test_compressed_batches_may_be_written_otherwise(self) -> None:
        one, other = ([left(0, 7, 5, attributes=3, crc=crc), left(8, 8, 0)] for crc in (1, 2))
        assert judged(read(ALL), logs=(one, other)).validity is Validity.VALID

    def test_the_time_of_an_empty_batch_depends_on_when_it_was_cleaned(self) -> None:
        """As `exploratory/compacted --seed 12` had it: its records went in two cleanings on one replica."""
        one, other = ([*FULL[:-1], left(8, 8, 0, crc=crc)] for crc in (1344052393, 1904795919))
        assert judged(read(ALL), logs=(one, other)).validity is Validity.VALID

    @pytest.mark.parametrize(
        ("batch", "offset"),
        [
            (left(8, 8, 0, producer_id=8), 8),
            (left(5, 6, 2, crc=9), 5),
            (left(5, 6, 2, leader_epoch=1), 5),
            (left(5, 6, 2, producer_id=8), 5),
            (left(5, 6, 2, producer_epoch=8), 5),
            (left(5, 6, 2, base_sequence=8), 5),
            (left(5, 6, 2, attributes=8), 5),
        ],
    )
    def test_what_cleaning_leaves_must_not(self, batch: Batch, offset: int) -> None:
        result = judged(read(ALL), logs=(FULL, [batch if each[0] == batch[0] else each for each in FULL]))
        (found,) = [a for a in result.anomalies if a.id == "replica-divergence"]
        assert (found.subject, found.illegal) == (f"log-0/0@{offset}", True)
        assert f"a batch with base offset {offset}" in found.explanation[2]

    @pytest.mark.parametrize(("base", "last"), [(4, 5), (1, 3), (0, 2)])
    def test_batches_stand_where_they_stood(self, base: int, last: int) -> None:
        others = [batch for batch in FULL if batch.last_offset < base or batch.base_offset > last]
        log = sorted([*others, left(base, last, 1)])
        result = judged(read(ALL), logs=(FULL, log))
        assert "replica-divergence" in result.counts

    def test_an_epoch_does_not_go_down_from_one_to_the_other(self) -> None:
        one = (
            left(0, 3, 1),
            left(4, 6, 3, leader_epoch=1),
            left(7, 7, 1, leader_epoch=1),
            left(8, 8, 0, leader_epoch=1),
        )
        other = (left(4, 6, 3, leader_epoch=1), left(7, 7, 1, leader_epoch=1), left(8, 8, 0))
        result = judged(read(ALL), logs=(one, other))
        assert "replica-divergence" in result.counts


class TestLastRecords:
    @pytest.mark.parametrize("node", [1, 2])
    def test_of_each_key_the_last_one_is_on_every_replica(self, node: int) -> None:
        logs: list[Sequence[Batch]] = [FULL, FULL]
        logs[node - 1] = [batch for batch in FULL if batch.base_offset != 4]
        (found,) = [a for a in judged(read(ALL), logs=logs).anomalies if a.id == "compacted-away"]
        assert found.subject == "log-0/0@4"
        assert found.summary == f"n{node} has no record at offset 4 of log-0/0, the last one of its key"
        assert len(found.witness) == 2

    def test_a_batch_has_as_many_records_as_it_has_last_ones(self) -> None:
        log = (*FULL[:2], left(5, 6, 1, crc=4), *FULL[3:])
        result = judged(read(ALL), logs=(FULL, log))
        assert result.counts == {"compacted-away": 1}
        assert "In total 2 keys" in result.anomalies[0].explanation[-1]

    def test_what_stands_below_the_beginning_of_a_log_is_not_there(self) -> None:
        late = replica(FULL, log_start=5, end=9)
        assert judged(read(ALL), logs=(FULL, late)).counts == {"short-replica": 1, "compacted-away": 1}

    def test_readers_of_committed_records_decide_where_there_are_transactions(self) -> None:
        aborted = (
            *FULL[:4],
            left(8, 8, 1, attributes=0x10),
            Batch(9, producer_id=7, attributes=0x30, control=0),
        )
        cleaned = (*FULL[:4], aborted[-1])
        logs = [replica(log, log_start=0, end=10) for log in (aborted, cleaned)]
        reads = read((*ALL, 8), end=10), read(ALL, COMMITTED, end=10)
        assert judged(*reads, logs=logs).validity is Validity.VALID

    def test_a_damaged_log_is_not_judged(self) -> None:
        damaged = replica(FULL, log_start=0, end=9, corrupt=[["0.log", 61, 3, "x"]])
        assert judged(read(ALL), logs=(damaged, FULL)).figures["keys_compared"] == 0

    def test_nobody_knows_the_keys(self) -> None:
        log = [batch for batch in FULL if batch.base_offset != 4]
        assert judged(read(ALL), logs=(FULL, log), keys=None).figures["keys_compared"] == 0

    @pytest.mark.parametrize("reads", [[], [read(ALL)[:1]]])
    def test_nothing_is_reported_without_a_final_read(self, reads: list[list[Operation]]) -> None:
        listed = read((), at_ns=(2, 3))
        value = listed[1].value | {"position": 0}
        open_ended = [Operation(0, 3, "reader", OperationType.INFO, "final-read", "log-0", value)]
        log = [batch for batch in FULL if batch.base_offset != 4]
        assert judged(*reads, open_ended, logs=(FULL, log)).validity is Validity.VALID

    def test_nothing_is_reported_where_records_came_after_the_final_reads(self) -> None:
        log = [batch for batch in FULL if batch.base_offset != 4]
        logs = [replica(some, log_start=0, end=9) for some in (FULL, log)]
        assert judged(read(ALL[:-1], end=7), logs=logs).validity is Validity.VALID

    def test_nothing_is_reported_after_an_unclean_election(self) -> None:
        log = [batch for batch in FULL if batch.base_offset != 4]
        result = judged(read(ALL), logs=(FULL, log), others=elected(1, 2, unclean=True))
        assert "compacted-away" not in result.counts


class TestFinalReads:
    def test_what_is_left_on_disk_had_been_read(self) -> None:
        (found,) = judged(read((4, 5, 6, 7))).anomalies
        assert (found.id, found.subject) == ("on-disk-not-read", "log-0/0@0")
        assert "received 0 of 1 records" in found.summary

    def test_what_has_been_cleaned_since_may_have_been_read(self) -> None:
        assert judged(read((1, 2, *ALL))).validity is Validity.VALID

    def test_a_follower_may_have_more(self) -> None:
        assert judged(read((4, 5, 6, 7)), logs=(FULL[1:], FULL)).validity is Validity.VALID

    @pytest.mark.parametrize("others", [(), elected(1, 2), elected(3)])
    def test_another_replica_may_have_led(self, others: Sequence[Operation]) -> None:
        result = judged(read((4, 5, 6, 7)), logs=(FULL, FULL), others=others)
        assert "on-disk-not-read" not in result.counts

    def test_aborted_records_are_not_for_readers_of_committed_ones(self) -> None:
        log = (left(0, 3, 2, attributes=0x10), Batch(4, producer_id=7, attributes=0x30, control=0), *FULL[2:])
        result = judged(read((2, 3, 5, 6, 7)), read((5, 6, 7), COMMITTED), logs=(log, log))
        assert result.validity is Validity.VALID


class TestBroughtBack:
    def test_a_record_that_was_gone_stays_away(self) -> None:
        early, late = read(ALL), read((1, *ALL), at_ns=(4, 5))
        (found,) = judged(early, late).anomalies
        assert (found.id, found.subject, found.time_ns) == ("compacted-returned", "log-0/0@1", 5)

    @pytest.mark.parametrize(
        ("first", "second", "at_ns"),
        [((1, *ALL), ALL, (4, 5)), (ALL, (1, *ALL), (3, 5)), (ALL, (1, *ALL), (2, 3))],
    )
    def test_it_may_go_meanwhile(
        self, first: Sequence[int], second: Sequence[int], at_ns: tuple[int, int]
    ) -> None:
        assert judged(read(first), read(second, at_ns=at_ns)).validity is Validity.VALID

    @pytest.mark.parametrize("isolation", [UNCOMMITTED, COMMITTED])
    def test_aborted_records_come_back_for_readers_of_all(self, isolation: str) -> None:
        log = (left(0, 3, 2, attributes=0x10), Batch(4, producer_id=7, attributes=0x30, control=0), *FULL[2:])
        late = read((1, 2, 3, 5, 6, 7) if isolation == UNCOMMITTED else (5, 6, 7), isolation, at_ns=(4, 5))
        result = judged(read((5, 6, 7), COMMITTED), late, logs=(log, log))
        assert result.validity is Validity.VALID


def kept(log: Sequence[Batch], offsets: Sequence[int], **fields: Any) -> dict[str, Any]:
    """A log of which it is recorded which records its batches have left."""
    packed = pack(np.array(offsets, dtype=np.int64), "base_offset", COLUMN_TYPES)
    return replica(log, **{"log_start": 0, "end": 9, "left": packed, **fields})


class TestRecordsLeft:
    THIN = (left(0, 4, 3), left(5, 7, 2), left(8, 8, 0))

    def test_of_each_key_the_last_one_is_among_them(self) -> None:
        reads = read((1, 3, 4, 6, 7))
        whole = kept(self.THIN, (1, 3, 4, 6, 7))
        lost = kept(self.THIN, (1, 3, 4, 5, 7))
        result = judged(reads, logs=(lost, whole))
        (found,) = [a for a in result.anomalies if a.id == "compacted-away"]
        assert found.subject == "log-0/0@6"
        assert "compacted-away" not in judged(reads, logs=(whole, whole)).counts

    def test_each_of_them_had_been_read(self) -> None:
        reads = read((1, 4, 5, 6, 7))
        log = kept((left(0, 4, 2, crc=5), left(5, 6, 2), left(7, 7, 1), left(8, 8, 0)), (3, 4))
        assert judged(reads, logs=(log, log)).counts == {"on-disk-not-read": 1}


class TestActiveSegment:
    """Records 1 and 3 of key 1 and 3 are replaced by 5 and 7."""

    def judged(self, *reads: list[Operation], active: int | None = 5, **others: Any) -> CheckerResult:
        whole = replica([left(0, 8, 9)], log_start=0, end=9, active=active)
        return judged(*reads, logs=(whole, whole), **others)

    def test_what_is_replaced_in_it_is_still_there(self) -> None:
        assert self.judged(read(range(9))).figures["active_records_due"] == 4
        result = self.judged(read((0, 1, 2, 3, 4, 5, 6, 7, 8)), read((0, 2, 3, 4, 5, 6, 7, 8), COMMITTED))
        (found,) = [a for a in result.anomalies if a.id == "compacted-early"]
        assert found.subject == "log-0/0@1"
        assert "the reads of c (read_committed)" in found.explanation[0]

    def test_on_disk_too(self) -> None:
        logs = [kept([left(0, 8, 8)], (0, 2, 3, 4, 5, 6, 7, 8), active=5)] * 2
        result = judged(read(range(9)), logs=logs)
        assert result.counts == {"compacted-early": 1}
        assert "In n1's disk 1 records" in result.anomalies[0].explanation[0]

    @pytest.mark.parametrize("active", [None, 6])
    def test_what_is_replaced_before_it_may_be_gone(self, active: int | None) -> None:
        cleaned = replica([left(0, 0, 1), left(2, 8, 7)], log_start=0, end=9, active=active)
        assert judged(read((0, 2, 3, 4, 5, 6, 7, 8)), logs=(cleaned, cleaned)).validity is Validity.VALID

    def test_another_may_have_cleaned_what_was_appended_before_it_led(self) -> None:
        cleaned = replica([left(0, 0, 1), left(2, 8, 7)], log_start=0, end=9, active=5)
        logs = (cleaned, cleaned)
        result = judged(read((0, 2, 3, 4, 5, 6, 7, 8)), logs=logs, others=elected(1, 2, 1))
        assert "compacted-early" not in result.counts

    def test_nothing_is_reported_where_acknowledged_records_may_be_lost(self) -> None:
        assert self.judged(read(range(9)), acks="1").figures["active_records_due"] == 0

    def test_nothing_is_reported_of_transactions(self) -> None:
        log = replica([left(0, 8, 9, attributes=0x10)], log_start=0, end=9, active=5)
        assert judged(read(range(9)), logs=(log, log)).figures["active_records_due"] == 0


def cleaned(end: int, *, nodes: str = "123", began_ns: int = 6) -> list[Operation]:
    """What nodes logged of cleanings: n2 cleaned the partition up to an offset."""
    return [
        Operation(
            0, 7, "runner", OK, "observe", "cleaned", {"began_ns": began_ns, "logs": logs}, node=f"n{n}"
        )
        for n in nodes
        for logs in [[["log-0", 0, end, 4], ["log-1", 0, 1, 3]] if n == "2" else [["log-0", 0, 1, 2]]]
    ]


class TestCleanings:
    """Record 1 of key 1 is replaced by 5 alone."""

    WHOLE = (left(0, 8, 9),)
    LACKING = (left(0, 0, 1), left(2, 8, 7))

    @pytest.mark.parametrize(("end", "found"), [(4, True), (5, True), (6, False)])
    def test_what_was_not_cleaned_yet_replaces_nothing_on_any_replica(self, end: int, *, found: bool) -> None:
        result = judged(read(range(9)), logs=(self.WHOLE, self.LACKING), cleaned=cleaned(end))
        assert ("compacted-early" in result.counts) is found
        assert result.figures["uncleaned_records_due"] > 0

    def test_readers_were_given_it_too(self) -> None:
        logs = (self.WHOLE, self.WHOLE)
        reads = read(range(9)), read((0, 2, 3, 4, 5, 6, 7, 8), COMMITTED)
        result = judged(*reads, logs=logs, cleaned=cleaned(4))
        (found,) = [a for a in result.anomalies if a.id == "compacted-early"]
        assert found.subject == "log-0/0@1"
        assert "the reads of c" in found.explanation[0]
        assert found.explanation[1] == (
            "By their logs, no broker had compacted it beyond 4; n2 had up to there (line 4)."
        )

    def test_one_finding_for_each_replica(self) -> None:
        log = replica(self.LACKING, log_start=0, end=9, active=5)
        result = judged(read(range(9)), logs=(log, log), cleaned=cleaned(4))
        assert result.counts["compacted-early"] == 2

    @pytest.mark.parametrize(
        "operations",
        [cleaned(4, nodes="12"), cleaned(4, began_ns=4), []],
        ids=["not by all", "before the disk was read", "by nobody"],
    )
    def test_nothing_is_reported_where_not_all_is_known(self, operations: list[Operation]) -> None:
        result = judged(read(range(9)), logs=(self.WHOLE, self.LACKING), cleaned=operations)
        assert "compacted-early" not in result.counts
        assert result.figures["uncleaned_records_due"] == 0

    @pytest.mark.parametrize(("outcome", "due"), [("ok", 4), ("info", 4), ("fail", 5)])
    def test_a_tombstone_may_have_been_anywhere_if_nobody_knows_its_offset(
        self, outcome: str, due: int
    ) -> None:
        """It is that of value 21, of key 1."""
        operations = [*cleaned(2), *sending(21, 1, outcome, placed=False)]
        result = judged(read(range(9)), logs=(self.WHOLE,), tombstones=3, cleaned=operations)
        assert result.figures["uncleaned_records_due"] == due

    def test_nothing_is_reported_where_versions_may_word_it_in_other_ways(self) -> None:
        mixed = {"kafka_version": "4.3.1", "node_versions": {"n2": "3.9.0"}}
        result = judged(read(range(9)), logs=(self.WHOLE, self.LACKING), cleaned=cleaned(4), setup=mixed)
        assert "compacted-early" not in result.counts

    def test_nor_of_a_log_of_which_no_cleaning_is_logged(self) -> None:
        operations = [
            Operation(0, 7, "runner", OK, "observe", "cleaned", {"began_ns": 6, "logs": []}, node=f"n{n}")
            for n in (1, 2, 3)
        ]
        result = judged(read(range(9)), logs=(self.WHOLE, self.LACKING), cleaned=operations)
        assert "compacted-early" not in result.counts


class TestTombstones:
    """Every second record of a key is a tombstone: of key 0 that is 4, of key 1 it is 5."""

    LOG = (left(0, 3, 4), left(5, 8, 4))
    """The tombstone at 4 is gone, and the record at 0 is there."""

    def test_a_deleted_key_stays_deleted(self) -> None:
        result = judged(
            read((0, 1, 2, 3, 5, 6, 7)),
            logs=(self.LOG, self.LOG),
            tombstones=2,
            sent=[(4, 1)],
            retention_ms="1",
        )
        (found,) = [a for a in result.anomalies if a.id == "deleted-key-returned"]
        assert found.subject == "log-0/0@0"
        assert "but not its tombstone at 4" in found.summary
        assert result.figures["deleted_keys"] == 4

    def test_both_may_be_gone(self) -> None:
        log = (left(1, 3, 3), left(5, 8, 4))
        result = judged(read((1, 2, 3, 5, 6, 7)), logs=(log, log), tombstones=2, sent=[(4, 1)])
        assert "deleted-key-returned" not in result.counts

    def test_one_that_the_end_of_the_read_does_not_reach_was_not_due(self) -> None:
        log = (left(0, 3, 4),)
        logs = [replica(log, log_start=0, end=4)] * 2
        result = judged(read((0, 1, 2, 3), end=4), logs=logs, tombstones=2, sent=[(4, 1)])
        assert "deleted-key-returned" not in result.counts

    @pytest.mark.parametrize(("retention_ms", "found"), [("1000", False), ("x", True), (None, True)])
    def test_who_was_out_of_sync_for_longer_may_have_missed_it(
        self, retention_ms: str | None, *, found: bool
    ) -> None:
        others = out_of_sync(2_000_000_000)
        result = judged(
            read((0, 1, 2, 3, 5, 6, 7), at_ns=(3_000_000_000, 4_000_000_000)),
            logs=(self.LOG, self.LOG),
            tombstones=2,
            sent=[(4, 1)],
            retention_ms=retention_ms,
            others=others,
        )
        assert ("deleted-key-returned" in result.counts) is found

    def test_nobody_knows_who_was_in_sync(self) -> None:
        logs = (self.LOG, self.LOG)
        result = judged(read((0, 1, 2, 3, 5, 6, 7)), logs=logs, tombstones=2, sent=[(4, 1)], others=())
        assert "deleted-key-returned" not in result.counts

    @pytest.mark.parametrize(("retention_ms", "found"), [("0", False), ("1", True)])
    def test_it_is_on_every_replica_for_a_while(self, retention_ms: str, *, found: bool) -> None:
        log = [batch for batch in FULL if batch.base_offset != 4]
        result = judged(read(), logs=(FULL, log), tombstones=2, sent=[(4, 1)], retention_ms=retention_ms)
        assert ("compacted-away" in result.counts) is found

    @pytest.mark.parametrize(("retention_ms", "found"), [("0", False), ("1", True)])
    def test_what_it_deleted_may_be_gone_with_it_elsewhere(self, retention_ms: str, *, found: bool) -> None:
        cleaned = (left(1, 3, 3), left(5, 8, 4))
        result = judged(
            read((0, 1, 2, 3, 5, 6, 7)),
            logs=(self.LOG, cleaned),
            tombstones=2,
            sent=[(4, 1)],
            retention_ms=retention_ms,
        )
        assert ("compacted-away" in result.counts) is found

    def test_one_that_is_replaced_in_the_active_segment_may_be_gone(self) -> None:
        whole = replica([left(0, 8, 9)], log_start=0, end=9, active=5)
        assert judged(read(range(9)), logs=(whole, whole), tombstones=1).figures["active_records_due"] == 0
