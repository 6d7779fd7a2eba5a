"""Compares final reads with the log on disk, offset by offset, at both isolation levels.

A read_uncommitted reader receives every record below the end that it listed, and no marker.  A read_committed
reader receives the same, except that it receives only those transactions that a commit marker ends (KIP-98).
Both read after recovery, and disks are read after them, so earlier faults excuse no difference.  Compaction
excuses a difference, and so does an unclean election since the reads began.  Records below the log's start
may be missing.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.replicas import COMMIT, ReplicaLog
from checkers.history.operations import History
from checkers.logs.replicas.anomalies import ON_DISK_NOT_READ, READ_NOT_ON_DISK, TRANSACTION_WITHOUT_MARKER
from checkers.logs.replicas.markers import markers_of
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly


class CompletedFinalRead(NamedTuple):
    """A final read that reached the end that it listed.

    Attributes:
        client: its reader, as text.
        committed: whether it read with read_committed.
        start: the first offset that it listed.
        end: the end that it listed.
        offsets: all offsets that it returned, ascending, each once.
        op: index of its completion in the history.
        listed_ns: a time before which its start and end were not listed, nanoseconds.
        began_ns: a time before which nothing of it was fetched, nanoseconds.
    """

    client: str
    committed: bool
    start: int
    end: int
    offsets: Integers
    op: int
    listed_ns: int
    began_ns: int


def final_reads(columns: Columns) -> dict[int, list[CompletedFinalRead]]:
    """All complete final reads, by codes of partitions."""
    finals, calls, reads = columns.final_reads, columns.calls, columns.reads
    found: dict[int, list[CompletedFinalRead]] = {}
    for row in np.flatnonzero(finals.whole).tolist():
        call, partition = int(finals.call[row]), int(finals.partition[row])
        first, last = np.searchsorted(reads.call, [call, call + 1])
        offsets = reads.offset[first:last][reads.partition[first:last] == partition]
        reader = columns.readers[int(calls.reader[call])]
        read = CompletedFinalRead(
            client=str(reader),
            committed=reader.committed,
            start=int(finals.start[row]),
            end=int(finals.end[row]),
            offsets=offsets if bool((np.diff(offsets) > 0).all()) else np.unique(offsets),
            op=int(calls.op[call]),
            listed_ns=int(finals.listed_ns[row]),
            began_ns=int(calls.invoked_ns[call]),
        )
        found.setdefault(partition, []).append(read)
    return found


def truncated_since(history: History, partition: PartitionName, read: CompletedFinalRead) -> bool:
    """Whether an unclean election may have truncated a log since a read listed its end."""
    changes = partition_changes(history)
    states = changes.states.get(partition, ())
    return any(state.unclean and changes.span(state).to_ns >= read.listed_ns for state in states)


def due(log: ReplicaLog, *, committed: bool) -> Booleans:
    """Which batches a reader receives; shape (batches,)."""
    data = ~log.control
    if not committed:
        return data
    ends = np.append(log["control"], NONE)[markers_of(log)]
    visible: Booleans = data & (~log.transactional | (ends == COMMIT))
    return visible


def offsets_compared(log: ReplicaLog, read: CompletedFinalRead) -> int:
    """Number of the offsets returned by a read that are searched for in a log."""
    first, end = _within(log, read)
    return int(((read.offsets >= first) & (read.offsets < end)).sum())


def find_not_on_disk(log: ReplicaLog, read: CompletedFinalRead) -> Iterator[Anomaly]:
    """One finding if a read returned an offset at which the log has no record that the reader may receive."""
    first, end = _within(log, read)
    offsets = read.offsets[(read.offsets >= first) & (read.offsets < end)]
    rows = log.rows_at(offsets)
    bad = np.flatnonzero(~np.append(due(log, committed=read.committed), np.False_)[rows])
    if len(bad):
        offset, row = int(offsets[bad[0]]), int(rows[bad[0]])
        there = "no batch" if row == NONE else _kind(log, row)
        yield _found(
            READ_NOT_ON_DISK,
            _Difference(log, read, offset, there),
            f"{read.client} received offset {offset} of {log.partition}, where {log.node} has {there}",
            f"A final read by {read.client} returned {len(bad)} offsets that are not in the log.",
        )


def find_not_read(log: ReplicaLog, read: CompletedFinalRead) -> Iterator[Anomaly]:
    """One finding if a read skipped a record that the log has."""
    first, end = _within(log, read)
    base, last = np.maximum(log["base_offset"], first), np.minimum(log["last_offset"], end - 1)
    rows = np.flatnonzero(due(log, committed=read.committed) & (base <= last))
    base, last = base[rows], last[rows]
    given = np.searchsorted(read.offsets, last, "right") - np.searchsorted(read.offsets, base, "left")
    lacking = np.flatnonzero(given < last - base + 1)
    if len(lacking):
        row = int(lacking[0])
        held = np.arange(base[row], last[row] + 1)
        offset = int(np.setdiff1d(held, read.offsets)[0])
        yield _found(
            ON_DISK_NOT_READ,
            _Difference(log, read, offset, _kind(log, int(rows[row]))),
            f"{read.client} did not receive offset {offset} of {log.partition}, which is on {log.node}",
            f"A final read by {read.client} read to the end, {read.end}, without {len(lacking)} batches.",
        )


def find_unended(log: ReplicaLog, read: CompletedFinalRead) -> Iterator[Anomaly]:
    """One finding if a read_committed read passed records of a transaction that no marker ends."""
    first, end = _within(log, read)
    open_ = log.transactional & ~log.control & (markers_of(log) == NONE) & (log["count"] > 0)
    rows = np.flatnonzero(open_ & (log["base_offset"] >= first) & (log["base_offset"] < end))
    if read.committed and len(rows):
        offset = int(log.columns["base_offset"][rows[0]])
        yield _found(
            TRANSACTION_WITHOUT_MARKER,
            _Difference(log, read, offset, _kind(log, int(rows[0]))),
            f"{read.client} read past offset {offset} of {log.partition}, where a transaction is open",
            f"A final read by {read.client} read to {read.end}, the end that it had listed.",
        )


class _Difference(NamedTuple):
    """An offset at which a log and a final read contradict each other, and what the log has there."""

    log: ReplicaLog
    read: CompletedFinalRead
    offset: int
    there: str


def _found(kind: AnomalyKind, where: _Difference, summary: str, did: str) -> Anomaly:
    """A contradiction between a log and a final read at an offset."""
    log, read, offset, there = where
    return kind.found(
        summary,
        subject=f"{log.partition}@{offset}",
        time_ns=log.time_ns,
        witness=(read.op, log.op),
        explanation=(did, f"On {log.node}, in sync, there is {there}."),
    )


def _within(log: ReplicaLog, read: CompletedFinalRead) -> tuple[int, int]:
    """First offset that both must have, and the offset after the last one."""
    return max(read.start, log.start), min(read.end, log.end)


def _kind(log: ReplicaLog, row: int) -> str:
    """Return a batch as text."""
    base, last = int(log.columns["base_offset"][row]), int(log.columns["last_offset"][row])
    where = f"from {base} to {last}"
    if log.control[row]:
        return f"a control batch {where}"
    if not log.transactional[row]:
        return f"a batch {where}"
    marker = int(markers_of(log)[row])
    ended = {NONE: "no marker ends", 0: "was aborted"}.get(
        marker if marker == NONE else int(log.columns["control"][marker]), "was committed"
    )
    return f"a batch {where} of a transaction that {ended}"
