"""Compares replicas' indexes of aborted transactions with their logs.

The rules are ``abort-not-indexed`` and ``indexed-in-error``.

A broker keeps the first offset of each producer's open transaction.  When it appends the marker that aborts
the transaction, as a leader or as a follower, it adds an entry to the index of that segment
(``UnifiedLog.append``, ``LogSegment.updateTxnIndex``).  A truncation removes the entries of the markers that
it removes (``TransactionIndex.truncateTo``).  Recovery after a kill writes the indexes of all segments from
the recovery point on again (``LogSegment.recover``).  Producers with open transactions do not expire.  So
each abort marker after records of its producer has an entry, which begins at the first of these records.  A
marker without records has none (KAFKA-10702).

An entry may be absent, or begin at a later record, for these reasons:

- When a broker starts, or truncates a log, it reads no records below the start that its log has then
  (``UnifiedLog.rebuildProducerState``).  So records count only from the start of the log on.  A broker may
  have known a higher start than its disk has, so the highest start counts that any replica or final read
  reports, or that a deletion requested.  In a topic with a retention nothing
  may report the highest start that a broker knew, so only absent entries are judged there.
- The cleaner writes the indexes of compacted topics again.  These topics are not judged.
- A segment may be deleted before its index is read, if its topic has a retention or records of it were
  deleted.  In other topics an abort marker below all segments that were read makes the result unknown.
- If a disk fails, the index may lack the last marker of the log.  A marker that is not committed may be
  truncated.  So only in-sync replicas are judged, below the committed end.
- A node that lost power may lack an index of a segment below the recovery point, because the directory is not
  synced for an index that is created later than its segment (``LocalLog.flush``).  It is not judged.
- If brokers are configured to forget producers early, a broker that truncates a log may know no producer, and
  then it does not read the log.  Such runs are not judged.

An entry for which the log has no such transaction is legal only below the start of the log.  The last stable
offset in an entry is not judged.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.evidence.aborted import Aborts, Indexed, aborts_of, indexes_of
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import History
from checkers.history.replicas import EVIDENCE_ABORTED
from checkers.history.setup import recorded_setup
from checkers.logs.replicas.anomalies import ABORT_NOT_INDEXED, INDEXED_IN_ERROR
from checkers.logs.replicas.comparison import ComparedRange
from checkers.logs.replicas.limits import Limits
from checkers.logs.replicas.single_log import Finds
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly

_WITHOUT_MARKER = "there is no abort marker of that producer at {marker}"
_WITHOUT_RECORD = "the transaction that the marker at {marker} ends has no record at {first}"


def judged_logs(logs: Sequence[ReplicaLog], limits: Limits) -> list[ReplicaLog]:
    """The logs of one partition whose indexes are judged.

    Args:
        logs: the logs of its in-sync replicas.
        limits: nodes and topics with weaker promises of Kafka.
    """
    return [
        log
        for log in logs
        if not limits.forgetting
        and log.partition.topic not in limits.compacted
        and log.node not in limits.unsynced
        and not log.seen.corrupt
    ]


def find_in_indexes(
    history: History,
    logs: Sequence[ReplicaLog],
    limits: Limits,
    committed: ComparedRange,
    figures: Counter[str],
) -> Iterator[Finds]:
    """Find aborted transactions that a replica's indexes lack, and entries without such a transaction.

    Args:
        history: has the indexes.
        logs: the logs that are judged.
        limits: topics whose logs may have had a higher start than anything reports.
        committed: the range in which they are judged, from the highest start of the log.
        figures: counts the aborted transactions and the entries that were compared.
    """
    indexes = indexes_of(history)
    for log in logs:
        index = indexes.get((log.node, log.partition))
        if index is not None:
            aborts = aborts_of(log, committed.first)
            missed = _missed(index, aborts, committed, figures)
            if log.partition.topic in limits.retained:
                missed = missed._replace(later=np.zeros_like(missed.later))
            yield from _not_indexed((log, index), aborts, missed, committed)
            yield from _in_error((log, index), aborts, committed, figures)


def unread_indexes(
    history: History, logs: Sequence[ReplicaLog], limits: Limits, committed: ComparedRange
) -> Iterator[str]:
    """Replicas whose indexes should have aborted transactions but are not known, as sentences.

    Histories of earlier versions have no indexes.

    Args:
        history: has the indexes.
        logs: the logs that are judged.
        limits: topics whose segments may be deleted before their indexes are read.
        committed: the range in which they are judged.
    """
    indexes = indexes_of(history)
    meant = EVIDENCE_ABORTED in recorded_setup(history).evidence
    for log in logs:
        index = indexes.get((log.node, log.partition))
        problem = _problem(log, index, limits, committed) if meant or index is not None else None
        if problem is not None:
            yield f"the index of aborted transactions of {log.partition} on {log.node} {problem}"


def _problem(log: ReplicaLog, index: Indexed | None, limits: Limits, committed: ComparedRange) -> str | None:
    """Why it is unknown whether an index has all aborted transactions; None if it is known."""
    aborts = aborts_of(log, committed.first)
    due = _due(aborts, committed)
    if index is None or index.seen.error is not None:
        why = "was not recorded" if index is None else f"was not read: {index.seen.error}"
        return why if due.any() else None
    without = due & (index.segments_of(aborts.marker) == NONE)
    if without.any() and log.partition.topic not in limits.retained | limits.deleted:
        return f"lacks the segment of the marker at {aborts.marker[without].min()}"
    unknown = due & _in_damaged(index, aborts) & (_entries_of(index, aborts) == NONE)
    segments = index.segments_of(aborts.marker[unknown]).tolist()
    return f"is damaged: {index.damaged[segments[0]]}" if segments else None


def _due(aborts: Aborts, committed: ComparedRange) -> Booleans:
    """Which abort markers must be in an index."""
    within = (aborts.marker >= committed.first) & (aborts.marker < committed.end)
    due: Booleans = within & (aborts.first != NONE)
    return due


def _entries_of(index: Indexed, aborts: Aborts) -> Integers:
    """Row of the entry of each marker in the index of its segment, `NONE` if it has none."""
    rows = _rows_with(index.marker, aborts.marker)
    right = np.append(index.producer_id, NONE)[rows] == aborts.producer_id
    right &= np.append(index.segment, NONE)[rows] == index.segments_of(aborts.marker)
    return np.where(right, rows, NONE)


def _rows_with(values: Integers, wanted: Integers) -> Integers:
    """The last row of `values` that has each wanted value, `NONE` if there is none."""
    order = np.append(np.argsort(values, kind="stable"), NONE)
    found = order[np.searchsorted(values, wanted, side="right", sorter=order[:-1]) - 1]
    return np.where(np.append(values, NONE)[found] == wanted, found, NONE)


def _in_damaged(index: Indexed, aborts: Aborts) -> Booleans:
    """Which markers are in segments whose index could not be read to its end."""
    damaged: Booleans = np.isin(index.segments_of(aborts.marker), list(index.damaged))
    return damaged


class _Missed(NamedTuple):
    """What an index lacks; all have the shape (markers,).

    Attributes:
        begins: first offset in the entry of each marker, `NONE` without an entry.
        absent: whether a due entry is absent.
        later: whether a due entry begins at a later record than the transaction.
    """

    begins: Integers
    absent: Booleans
    later: Booleans


def _missed(index: Indexed, aborts: Aborts, committed: ComparedRange, figures: Counter[str]) -> _Missed:
    due = _due(aborts, committed) & (index.segments_of(aborts.marker) != NONE)
    entries = _entries_of(index, aborts)
    absent = (entries == NONE) & ~_in_damaged(index, aborts)
    figures["aborts_compared"] += int((due & (absent | (entries != NONE))).sum())
    begins = np.where(entries == NONE, NONE, np.append(index.first, NONE)[entries])
    return _Missed(begins, due & absent, due & (begins > aborts.first))


def _not_indexed(
    whose: tuple[ReplicaLog, Indexed], aborts: Aborts, missed: _Missed, committed: ComparedRange
) -> Iterator[Finds]:
    rows = np.flatnonzero(missed.absent | missed.later)
    rows = rows[np.argsort(aborts.marker[rows])]
    if len(rows):
        some = rows[:EXAMPLES_PER_ANOMALY].tolist()
        examples = tuple(_absent(whose, aborts, row, int(missed.begins[row]), committed) for row in some)
        yield Finds(ABORT_NOT_INDEXED, len(rows), examples)


def _in_error(
    whose: tuple[ReplicaLog, Indexed], aborts: Aborts, committed: ComparedRange, figures: Counter[str]
) -> Iterator[Finds]:
    log, index = whose
    within = (index.marker >= committed.first) & (index.marker < committed.end)
    within &= log.rows_at(index.marker) != NONE
    figures["index_entries"] += int(within.sum())
    place = _rows_with(aborts.marker, index.marker)
    known = np.append(aborts.producer_id, NONE)[place] == index.producer_id
    first, before = np.append(aborts.first, NONE)[place], np.append(aborts.before, NONE)[place]
    early = (index.first >= committed.first) & ((first == NONE) | (index.first < first))
    early |= index.first < before
    rows = np.flatnonzero(within & (~known | early))
    if len(rows):
        some = rows[:EXAMPLES_PER_ANOMALY].tolist()
        texts = [_WITHOUT_RECORD if known[row] else _WITHOUT_MARKER for row in some]
        examples = tuple(_excess(whose, row, text, committed) for row, text in zip(some, texts, strict=True))
        yield Finds(INDEXED_IN_ERROR, len(rows), examples)


def _absent(
    whose: tuple[ReplicaLog, Indexed], aborts: Aborts, row: int, begins: int, committed: ComparedRange
) -> Anomaly:
    log, index = whose
    producer, first, marker = int(aborts.producer_id[row]), int(aborts.first[row]), int(aborts.marker[row])
    segment = int(index.segments_of(aborts.marker[row : row + 1])[0])
    absent, records = begins == NONE, f"records of producer {producer}"
    lacks = "lacks it" if absent else f"has it only from offset {begins} on"
    has = "has no entry for that marker" if absent else f"has it from offset {begins} on"
    which = "these records" if absent else f"its records below offset {begins}"
    return ABORT_NOT_INDEXED.found(
        f"{log.partition} on {log.node}: the transaction of producer {producer} from offset {first} on was "
        f"aborted by the marker at {marker}, and the index of aborted transactions {lacks}",
        subject=f"{log.partition}@{first}",
        time_ns=index.time_ns,
        witness=(*committed.witness, log.op, index.op),
        explanation=(
            committed.reason,
            f"{log.node} has {records} from {first} on, and their abort marker at {marker}.",
            f"The index of the segment that begins at {segment} {has}.",
            f"A consumer at read_committed that fetches from {log.node} gets {which} as committed ones.",
        ),
    )


def _excess(whose: tuple[ReplicaLog, Indexed], row: int, text: str, committed: ComparedRange) -> Anomaly:
    log, index = whose
    producer, first, marker = (int(each[row]) for each in (index.producer_id, index.first, index.marker))
    why = text.format(marker=marker, first=first)
    return INDEXED_IN_ERROR.found(
        f"{log.partition} on {log.node}: the index of aborted transactions has one of producer {producer} "
        f"from offset {first} to {marker}, but {why}",
        subject=f"{log.partition}@{first}",
        time_ns=index.time_ns,
        witness=(*committed.witness, log.op, index.op),
        explanation=(
            committed.reason,
            f"The index of {log.node} has one of producer {producer} from {first} to {marker}.",
            f"In the log of {log.node} {why}.",
            f"A consumer at read_committed that fetches from {log.node} leaves out its records from there.",
        ),
    )
