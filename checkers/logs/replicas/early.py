"""Judges records that a compacted topic's replicas have removed although no cleaned record replaces them.

A cleaner removes a record because of a later record of its key in the part of the log that it cleans, which
ends at the active segment (Kafka documentation, Design, Log Compaction).  So the last record of a key before
that end still exists.  A record above one of these two bounds replaces nothing:

- On every replica: the end of all ranges that brokers logged as cleaned (`checkers.evidence.cleanings`).
- On the leader: the start of its active segment, for records that it appended while it led, because no other
  replica that could have cleaned them has led since.

A record with an unknown outcome can't have replaced another one unnoticed: it would be the last of its key
before the bound, so final reads would have returned it.  Tombstones may have been removed, and are left out.
Records of aborted transactions replace nothing (`known_records`).  Records of undecided ones may replace
others, and may have been removed.  Keys of a transaction whose marker a replica may have missed are left out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, SendOutcome, Tombstones
from checkers.evidence.cleanings import cleaned_by
from checkers.evidence.loading import all_columns_of
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import History
from checkers.licences.missed_markers import MissedMarkers, missed_markers
from checkers.logs.replicas.anomalies import COMPACTED_EARLY
from checkers.logs.replicas.known_records import is_transactional, keys_of, known_of
from checkers.logs.replicas.returned import CompletedFinalRead
from checkers.verdict.verdict import Anomaly


class LastLeader(NamedTuple):
    """The broker that led from before the final reads until its disk was read, and its epoch."""

    node: str
    epoch: int


class _Replaced(NamedTuple):
    """Known records that a later record of their key follows.

    Attributes:
        offset: their offsets, shape (n,), ascending.
        following: offset of the next record of the key, shape (n,).
    """

    offset: Integers
    following: Integers


def find_early(
    history: History,
    logs: Sequence[ReplicaLog],
    led: LastLeader | None,
    reads: Sequence[CompletedFinalRead],
    figures: Counter[str],
) -> Iterator[Anomaly]:
    """At most one finding for each replica.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        logs: logs of the replicas in sync, of a partition without licences to lose acknowledged records.
        led: the leader that the final reads used; None if unknown.
        reads: complete final reads of the partition.
        figures: counts the records that each bound requires.
    """
    columns = all_columns_of(history)
    code = columns.partitions.index(logs[0].partition)
    if any(bool(log.transactional.any()) for log in logs) and not is_transactional(columns, code):
        return
    replaced = _replaced(columns, code, missed_markers(history).get(logs[0].partition))
    for log in logs:
        leads = led is not None and led.node == log.node
        found: list[Anomaly] = []
        cleaned = cleaned_by(history, log.partition, log.time_ns)
        if cleaned is not None:
            due = replaced.offset[replaced.following >= cleaned.end]
            figures["uncleaned_records_due"] += len(due)
            found += _gone(log, due, reads if leads else (), cleaned.text, (cleaned.op,))
        if led is not None and leads:
            due = replaced.offset[_in_active(log, led.epoch, replaced.following)]
            figures["active_records_due"] += len(due)
            why = f"All later records of their keys are in the active segment of {log.node}, from "
            found += _gone(log, due, reads, f"{why}{log.seen.active} on.")
        yield from found[:1]


def _replaced(columns: Columns, code: int, missed: MissedMarkers | None) -> _Replaced:
    """Known records of a partition and the next record of each key; empty if the keys are unknown."""
    topic = columns.partitions[code].topic
    keys = columns.keys.get(topic)
    if not keys:
        return _Replaced(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    offset, value, committed = known_of(columns, code)
    key = value % keys
    order = np.lexsort((offset, key))
    following = np.append(offset[order][1:], NONE)
    following[np.flatnonzero(np.diff(key[order]))] = NONE
    marks = columns.tombstones.get(topic)
    due = (following != NONE) & committed[order]
    if missed is not None:
        due &= ~np.isin(key[order], keys_of(columns, code, missed.replicas, keys))
    if marks is not None:
        due &= ~marks.among(value[order]) & ~_doubtful(columns, code, marks, key[order])
    rows = order[due]
    by_offset = np.argsort(offset[rows], kind="stable")
    return _Replaced(offset[rows][by_offset], following[due][by_offset])


def _doubtful(columns: Columns, code: int, marks: Tombstones, keys: Integers) -> Booleans:
    """Keys with a tombstone of unknown outcome or offset, which may have existed and been removed."""
    sends = columns.sends
    placed = np.isin(sends.outcome, (SendOutcome.FAIL, SendOutcome.ABORTED))
    placed |= (sends.outcome == SendOutcome.OK) & (sends.offset != NONE)
    rows = np.flatnonzero((sends.partition == code) & ~placed)
    values = sends.value[rows]
    return np.isin(keys, values[marks.among(values)] % marks.keys)


def _in_active(log: ReplicaLog, epoch: int, following: Integers) -> Booleans:
    """Which records the leader appended to its active segment while it led."""
    if log.seen.active is None:
        return np.zeros(len(following), dtype=np.bool_)
    of_epoch: Booleans = np.append(log["leader_epoch"], NONE)[log.rows_at(following)] == epoch
    return of_epoch & (following >= log.seen.active)


def _gone(
    log: ReplicaLog,
    due: Integers,
    reads: Sequence[CompletedFinalRead],
    why: str,
    witness: tuple[int, ...] = (),
) -> list[Anomaly]:
    """One finding if a record that no cleaned record replaces is missing on a disk, or was not read."""
    missing = [(log.op, f"{log.node}'s disk", due[~log.has(due) & (due >= log.start)])]
    for read in reads:
        mine = due[(due >= read.start) & (due < read.end)]
        missing.append((read.op, f"the reads of {read.client}", np.setdiff1d(mine, read.offsets)))
    for op, where, gone in missing:
        if len(gone):
            offset = int(gone[0])
            return [
                COMPACTED_EARLY.found(
                    f"offset {offset} of {log.partition} is gone although it cannot have been compacted yet",
                    subject=f"{log.partition}@{offset}",
                    time_ns=log.time_ns,
                    witness=tuple(sorted({op, log.op, *witness})),
                    explanation=(
                        f"In {where} {len(gone)} records are missing, the first at offset {offset}.",
                        why,
                    ),
                )
            ]
    return []
