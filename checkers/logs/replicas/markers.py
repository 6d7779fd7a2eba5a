"""Judges the markers that end transactions on disk, against answers to clients and against each other.

A transaction's record is identified on disk by the offset that its client received.  The next marker of the
batch's producer in that partition ends the transaction (KIP-98).  With transaction version 2 the marker has a
later epoch than the batch (KIP-890).  All partitions of a transaction get the same marker, whether or not its
client got an answer about its end.  The producer's next transaction does not begin in any partition before
that, because its coordinator refuses to add partitions until all markers are written
(CONCURRENT_TRANSACTIONS).

Records and markers that may have been truncated are left out, because others may be at their offsets.  The
parts of logs before them are judged.  Compacted topics, and transactions whose decision their coordinator may
have lost, are left out too.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Columns, Integers, PartitionName, SendOutcome
from checkers.evidence.replicas import ABORT, COMMIT, ReplicaLog
from checkers.licences.permits import Decisions
from checkers.logs.replicas.anomalies import MARKER_AGAINST_ANSWER, MARKER_SHARED, MARKERS_DIFFER
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_ENDS = {ABORT: "abort", COMMIT: "commit"}


class Marked(NamedTuple):
    """Records of transactions with a marker on disk, one row each, by transaction.

    Attributes:
        send: row of `Columns.sends`.
        transaction: index of the transaction's invocation in the history.
        end: type of the marker, `ABORT` or `COMMIT`.
        marker: offset of the marker.
        logs: the log that reports it, by partition.
    """

    send: Integers
    transaction: Integers
    end: Integers
    marker: Integers
    logs: Mapping[PartitionName, ReplicaLog]


def markers_of(log: ReplicaLog) -> Integers:
    """Row of the marker that ends each batch's transaction, `NONE` if there is none; shape (batches,)."""
    found = np.full(len(log), NONE, dtype=np.int64)
    rows = np.flatnonzero(log.transactional)
    rows = rows[np.lexsort((rows, log["producer_id"][rows]))]
    control, producer = log.control[rows], log["producer_id"][rows]
    after = np.minimum.accumulate(np.where(control, np.arange(len(rows)), len(rows))[::-1])[::-1]
    known = np.flatnonzero(~control & (after < len(rows)))
    known = known[producer[after[known]] == producer[known]]
    found[rows[known]] = rows[after[known]]
    return found


def marked_records(columns: Columns, logs: Mapping[PartitionName, ReplicaLog], lost: Decisions) -> Marked:
    """Find the markers of all records of transactions whose offsets clients received.

    Args:
        columns: the columns of the history.
        logs: one log of each partition that is judged.
        lost: the transactions whose decision may have been lost, which are left out.
    """
    sends = columns.sends
    judged = ((code, logs[name]) for code, name in enumerate(columns.partitions) if name in logs)
    parts = [_marked_in(columns, code, log) for code, log in judged]
    table = np.concatenate([np.empty((3, 0), dtype=np.int64), *parts], axis=1)
    order = np.lexsort((table[0], sends.invoke_op[table[0]]))
    send, end, marker = table[:, order[lost.of(sends.invoke_op[table[0, order]]) == NONE]]
    return Marked(send, sends.invoke_op[send], end, marker, logs)


def _marked_in(columns: Columns, code: int, log: ReplicaLog) -> Integers:
    """Rows of sends, and the types and offsets of their markers; shape (3, n)."""
    sends = columns.sends
    send = np.flatnonzero(sends.transactional & (sends.partition == code) & (sends.offset >= log.start))
    batch = log.rows_at(sends.offset[send])
    marker = np.append(markers_of(log), NONE)[batch]
    send, marker = send[marker != NONE], marker[marker != NONE]
    return np.stack((send, log["control"][marker], log["base_offset"][marker]))


def find_against_answers(columns: Columns, marked: Marked) -> Iterator[Anomaly]:
    """One finding for each transaction with a marker that contradicts its client's answer."""
    outcome = columns.sends.outcome[marked.send]
    wrong = (outcome == SendOutcome.OK) & (marked.end == ABORT)
    wrong |= (outcome == SendOutcome.ABORTED) & (marked.end == COMMIT)
    rows = np.flatnonzero(wrong)
    for row in rows[np.unique(marked.transaction[rows], return_index=True)[1]].tolist():
        description = (
            "whose commit was acknowledged" if outcome[row] == SendOutcome.OK else "that did not commit"
        )
        yield _found(MARKER_AGAINST_ANSWER, columns, marked, (row,), description)


def find_differing(columns: Columns, marked: Marked) -> Iterator[Anomaly]:
    """One finding for each transaction with an unknown end that has markers of both types."""
    known = columns.sends.outcome[marked.send] == SendOutcome.INFO
    same = (marked.transaction[1:] == marked.transaction[:-1]) & known[1:]
    rows = np.flatnonzero(same & (marked.end[1:] != marked.end[:-1]))
    for row in rows[np.unique(marked.transaction[rows], return_index=True)[1]].tolist():
        yield _found(MARKERS_DIFFER, columns, marked, (row, row + 1), "with an unknown outcome")


def find_shared(columns: Columns, marked: Marked) -> Iterator[Anomaly]:
    """One finding for each marker that ends an acknowledged commit's transaction and a later one."""
    partition = columns.sends.partition[marked.send]
    rows = np.lexsort((columns.sends.offset[marked.send], marked.marker, partition))
    before, after = rows[:-1], rows[1:]
    same = (partition[before] == partition[after]) & (marked.marker[before] == marked.marker[after])
    other = same & (marked.transaction[before] != marked.transaction[after])
    committed = columns.sends.outcome[marked.send[before]] == SendOutcome.OK
    for place in np.flatnonzero(other & committed).tolist():
        yield _shared(columns, marked, int(before[place]), int(after[place]))


def _shared(columns: Columns, marked: Marked, before: int, after: int) -> Anomaly:
    name = columns.partitions[int(columns.sends.partition[marked.send[before]])]
    log, marker = marked.logs[name], int(marked.marker[before])
    first, second = (int(marked.transaction[row]) for row in (before, after))
    offsets = [int(columns.sends.offset[marked.send[row]]) for row in (before, after)]
    return MARKER_SHARED.found(
        f"{name} has no marker between a transaction whose commit was acknowledged (operation {first}) and "
        f"the next one (operation {second}): the marker at {marker} ends both",
        subject=f"{name}@{marker}",
        time_ns=log.time_ns,
        witness=(first, int(columns.sends.complete_op[marked.send[before]]), second, log.op),
        explanation=(
            f"Operation {first} sent the record at {name}@{offsets[0]}, and its commit was acknowledged.",
            f"Operation {second} sent the record at {name}@{offsets[1]}.",
            f"On {log.node} the next marker of their producer is the one at {marker}.",
        ),
    )


def _found(
    kind: AnomalyKind, columns: Columns, marked: Marked, rows: tuple[int, ...], description: str
) -> Anomaly:
    sends = columns.sends
    begun, answered = (int(each[marked.send[rows[0]]]) for each in (sends.invoke_op, sends.complete_op))
    names = [columns.partitions[int(sends.partition[marked.send[row]])] for row in rows]
    logs = [marked.logs[name] for name in names]
    ends = [f"{_ENDS[int(marked.end[row])]} marker at {int(marked.marker[row])}" for row in rows]
    offsets = [int(sends.offset[marked.send[row]]) for row in rows]
    lines = [
        f"On {log.node} its record at {name}@{offset} is ended by the {end}."
        for log, name, offset, end in zip(logs, names, offsets, ends, strict=True)
    ]
    which = " and the ".join(f"{end} of {name}" for end, name in zip(ends, names, strict=True))
    return kind.found(
        f"a transaction {description} (operation {begun}) has the {which}",
        subject=f"{names[0]}@{int(marked.marker[rows[0]])}",
        time_ns=max(log.time_ns for log in logs),
        witness=(begun, *((answered,) if answered != NONE else ()), *dict.fromkeys(log.op for log in logs)),
        explanation=(f"Operation {begun} began a transaction {description}.", *lines),
    )
