"""Judges replicas of a compacted topic: against each other, and against the results of final reads.

Each broker cleans its own log, so one replica may have records that another one has removed.  Cleaning
removes records from batches, and does not change a batch's position, range, epoch, producer and numbers.
Further cleaning only adds to the removed records of a batch.  So batches with the same number of records left
have the same bytes, unless compression or the removal of tombstones (KIP-534) make a difference.
A batch without records keeps the newest timestamp of the records that the last cleaning removed from it
(``MemoryRecords.filterTo``), so its checksum depends on the number of cleanings.

The last record of every key that final reads received is on every in-sync replica.  All readers that read
from the leader before received the records that are on its disk, because cleaning restores no record (Kafka
documentation, Design, Log Compaction).  Keys with records that were appended after the final reads are not
judged.

With transactions, the last committed record of every key counts, which read_committed readers received: the
cleaner lets records of aborted transactions replace nothing (KIP-98).  Keys are not judged if a replica may
have missed the marker of a transaction that wrote them, and no key is judged if a transaction was open when
these readers listed the end.  A marker stays as long as a replica has records of its transaction (Kafka's
``CleanedTransactionMetadata``).  Readers pass a transaction only if all in-sync replicas have its marker.

Records that were not cleaned yet replace no other record (`early`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Columns, Integers, SendOutcome
from checkers.evidence.loading import all_columns_of
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import OK, History
from checkers.history.setup import recorded_setup
from checkers.licences import licences_of
from checkers.licences.missed_markers import missed_markers
from checkers.logs.replicas.anomalies import (
    COMPACTED_AWAY,
    COMPACTED_RETURNED,
    ON_DISK_NOT_READ,
    REPLICA_DIVERGENCE,
)
from checkers.logs.replicas.comparison import ComparedRange
from checkers.logs.replicas.deleted_keys import Newest, find_deleted_keys, without_expired
from checkers.logs.replicas.early import LastLeader, find_early
from checkers.logs.replicas.known_records import aborted_values, is_transactional, keys_of
from checkers.logs.replicas.returned import (
    CompletedFinalRead,
    due,
    final_reads,
    find_unended,
    truncated_since,
)
from checkers.verdict.verdict import Anomaly

_COMPRESSION = 0b111
_DELETE_HORIZON = 1 << 6
"""Attribute of a batch whose tombstones or markers may be removed after a time (KIP-534)."""
_KEPT = ("last_offset", "leader_epoch", "producer_id", "producer_epoch", "base_sequence", "attributes")
"""Columns of a batch that cleaning does not change; of the attributes, all but the delete horizon."""


def find_in_compacted(
    history: History, logs: Sequence[ReplicaLog], committed: ComparedRange, figures: Counter[str]
) -> Iterator[Anomaly]:
    """Find differences between the replicas of one partition that compaction does not explain.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        logs: the logs of the in-sync replicas, of one topic id; that of the leader at recovery comes first.
        committed: the range up to the end that final reads listed.
        figures: counts the comparisons.
    """
    for log in logs[1:]:
        figures["compacted_batches_compared"] += len(_shared(logs[0], log, committed)[0])
        yield from find_apart(logs[0], log, committed)
    if not any(operation.type is OK for operation in history.of("final-read")):
        return
    columns = all_columns_of(history)
    code = columns.partitions.index(logs[0].partition)
    reads = final_reads(columns).get(code, [])
    reads = [read for read in reads if not truncated_since(history, logs[0].partition, read)]
    if not reads or any(log["last_offset"].max(initial=NONE) >= committed.end for log in logs):
        return
    transactional = is_transactional(columns, code) or any(bool(log.transactional.any()) for log in logs)
    yield from _against_reads(history, logs, reads, committed if transactional else None, figures)
    leader, epoch = _leader_since(history, logs, min(read.listed_ns for read in reads))
    if leader is not None:
        figures["final_reads_compared"] += len(reads)
        for read in reads:
            yield from find_not_given(leader, read)
        yield from find_brought_back(history, leader, reads, transactional=transactional)
        yield from find_deleted_keys(history, leader, reads, figures)
    if columns.acks == "all" and not licences_of(history).of(logs[0].partition):
        led = None if leader is None else LastLeader(leader.node, epoch)
        yield from find_early(history, logs, led, reads, figures)


def _against_reads(
    history: History,
    logs: Sequence[ReplicaLog],
    reads: Sequence[CompletedFinalRead],
    committed: ComparedRange | None,
    figures: Counter[str],
) -> Iterator[Anomaly]:
    """Find last records of keys and markers that a replica lacks.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        logs: the logs of the in-sync replicas.
        reads: complete final reads.
        committed: the range that all of them must cover, with transactions; None without transactions.
        figures: counts the keys that are compared.
    """
    columns, partition = all_columns_of(history), logs[0].partition
    code = columns.partitions.index(partition)
    newest = newest_of(columns, code, committed=committed is not None)
    newest = without_expired(columns, partition, newest, max(log.time_ns for log in logs))
    newest = _without_missed(history, columns, code, newest)
    if committed is None or min(read.end for read in reads) >= committed.end:
        figures["keys_compared"] += len(newest.offset) * len(logs)
        for log in logs:
            yield from find_away(log, newest, reads, _aborted_since(columns, code, newest))
    if partition not in missed_markers(history):
        for log in logs:
            yield from find_unended(log, max(reads, key=lambda read: (read.committed, read.end)))


def find_apart(reference: ReplicaLog, other: ReplicaLog, committed: ComparedRange) -> Iterator[Anomaly]:
    """One finding if two logs have batches that cleaning can't have produced from the same log."""
    left, right = _shared(reference, other, committed)
    differs = np.zeros(len(left), dtype=np.bool_)
    for name in _KEPT:
        one, another = reference[name][left], other[name][right]
        differs |= (
            (one & ~_DELETE_HORIZON != another & ~_DELETE_HORIZON) if name == "attributes" else one != another
        )
    flags = reference["attributes"][left] | other["attributes"][right]
    alike = (flags & (_COMPRESSION | _DELETE_HORIZON)) == 0
    alike &= (reference["count"][left] == other["count"][right]) & (reference["count"][left] > 0)
    differs |= alike & (reference["crc"][left] != other["crc"][right])
    offsets = reference["base_offset"][left][differs].tolist() + _out_of_line(reference, other, committed)
    if offsets:
        first = min(offsets)
        yield REPLICA_DIVERGENCE.found(
            f"{reference.partition}: {reference.node} and {other.node} differ at offset {first}",
            subject=f"{reference.partition}@{first}",
            time_ns=max(reference.time_ns, other.time_ns),
            witness=(*committed.witness, reference.op, other.op),
            explanation=(
                committed.reason,
                f"{reference.node} there: {_batch(reference, first)}.",
                f"{other.node} there: {_batch(other, first)}.",
                "Compaction removes records from batches and changes nothing else.",
            ),
        )


def find_away(
    log: ReplicaLog, newest: Newest, reads: Sequence[CompletedFinalRead], aborted: Integers
) -> Iterator[Anomaly]:
    """One finding if a replica lacks the last record of a key: no batch has it, or a batch has too few.

    Args:
        log: the replica's log.
        newest: the last records of keys.
        reads: complete final reads of the partition.
        aborted: shape (keys,), offset of a later record of the key in an aborted transaction; `NONE` if there
            is none.
    """
    there = log.has(newest.offset) & (newest.offset >= log.start)
    rows = np.where(there, log.rows_at(newest.offset), NONE)
    wanted = np.bincount(rows[there], minlength=len(log))
    gone = np.flatnonzero(np.append(wanted > log["count"], np.True_)[rows])
    if len(gone):
        offset, value, later = (int(each[gone[0]]) for each in (newest.offset, newest.value, aborted))
        replaces = (f"The transaction of the later record of its key at offset {later} was aborted.",)
        yield COMPACTED_AWAY.found(
            f"{log.node} has no record at offset {offset} of {log.partition}, the last one of its key",
            subject=f"{log.partition}@{offset}",
            time_ns=log.time_ns,
            witness=(*(read.op for read in reads if offset in read.offsets), log.op),
            explanation=(
                f"Final reads returned {value} at offset {offset}, and no later record of its key.",
                *(replaces if later != NONE else ()),
                f"On {log.node}, in sync, is there {_batch(log, offset)}.",
                f"In total {len(gone)} keys lack their last record there.",
            ),
        )


def find_not_given(log: ReplicaLog, read: CompletedFinalRead) -> Iterator[Anomaly]:
    """One finding if a read from the leader returned fewer records of a batch than its disk has left."""
    first, end = max(read.start, log.start), min(read.end, log.end)
    base, last = log["base_offset"], log["last_offset"]
    rows = np.flatnonzero(due(log, committed=read.committed) & (base >= first) & (last < end))
    base, last, held = base[rows], last[rows], log["count"][rows]
    given = np.searchsorted(read.offsets, last, "right") - np.searchsorted(read.offsets, base, "left")
    lacking = np.flatnonzero((given < held) | np.isin(rows, _passed_over(log, read)))
    if len(lacking):
        row = lacking[0]
        offset = int(base[row])
        yield ON_DISK_NOT_READ.found(
            f"{read.client} received {given[row]} of {held[row]} records of a batch at offset "
            f"{offset} of {log.partition}, which is on {log.node}",
            subject=f"{log.partition}@{offset}",
            time_ns=log.time_ns,
            witness=(read.op, log.op),
            explanation=(
                f"{read.client} read to {read.end} and lacks records of {len(lacking)} batches.",
                f"Later there is on the disk of {log.node}, which it read from, {_batch(log, offset)}.",
            ),
        )


def _passed_over(log: ReplicaLog, read: CompletedFinalRead) -> Integers:
    """Rows of the batches that lost some records, and of which a read did not return all that are left."""
    left = np.empty(0, dtype=np.int64) if log.left is None else log.left
    return log.rows_at(np.setdiff1d(left, read.offsets))


def find_brought_back(
    history: History, log: ReplicaLog, reads: Sequence[CompletedFinalRead], *, transactional: bool
) -> Iterator[Anomaly]:
    """One finding for each final read with a record that an earlier one, of the same leader, lacked."""
    for late in reads:
        for early in reads:
            before = history.operations[early.op].time_ns < late.began_ns
            if not before or (transactional and early.committed and not late.committed):
                continue
            within = (late.offsets >= early.start) & (late.offsets < early.end)
            back = np.setdiff1d(late.offsets[within], early.offsets)
            if len(back):
                offset = int(back[0])
                yield COMPACTED_RETURNED.found(
                    f"{late.client} received offset {offset} of {log.partition}, {early.client} did not",
                    subject=f"{log.partition}@{offset}",
                    time_ns=history.operations[late.op].time_ns,
                    witness=(early.op, late.op),
                    explanation=(
                        f"{early.client} read to {early.end} and ended before {late.client} began.",
                        f"{log.node} led all the time, and {len(back)} records came back.",
                    ),
                )
                break


def newest_of(columns: Columns, code: int, *, committed: bool) -> Newest:
    """The last record of each key of a partition in the final reads; empty if the keys are unknown.

    Args:
        columns: the columns of the history.
        code: the partition's code.
        committed: whether only reads of read_committed readers count.  Values that they must not receive
            do not count.
    """
    reads, calls = columns.reads, columns.calls
    keys = columns.keys.get(columns.partitions[code].topic)
    wanted = calls.final[reads.call] & (reads.partition == code) & (reads.value >= 0)
    if committed:
        by_committed = np.array([reader.committed for reader in columns.readers], dtype=np.bool_)
        wanted &= by_committed[calls.reader[reads.call]]
    rows = np.flatnonzero(wanted) if keys else np.empty(0, dtype=np.int64)
    rows = rows[~np.isin(reads.value[rows], aborted_values(columns, code))]
    offset, value = reads.offset[rows], reads.value[rows]
    key = value % (keys or 1)
    order = np.lexsort((offset, key))
    last = order[np.flatnonzero(np.diff(key[order], append=NONE))]
    last = last[np.argsort(offset[last], kind="stable")]
    return Newest(offset[last], value[last])


def _without_missed(history: History, columns: Columns, code: int, newest: Newest) -> Newest:
    """The last records of those keys that no transaction wrote whose marker a replica may have missed."""
    partition = columns.partitions[code]
    missed, keys = missed_markers(history).get(partition), columns.keys.get(partition.topic)
    if missed is None or keys is None:
        return newest
    due = ~np.isin(newest.value % keys, keys_of(columns, code, missed.replicas, keys))
    return Newest(newest.offset[due], newest.value[due])


def _aborted_since(columns: Columns, code: int, newest: Newest) -> Integers:
    """Offset of the last known record of each key in an aborted transaction, if it is behind the last one."""
    sends, keys = columns.sends, columns.keys.get(columns.partitions[code].topic) or 1
    rows = np.flatnonzero((sends.partition == code) & (sends.outcome == SendOutcome.ABORTED))
    last = np.full(keys, NONE, dtype=np.int64)
    np.maximum.at(last, sends.value[rows] % keys, sends.offset[rows])
    later = last[newest.value % keys]
    return np.where(later > newest.offset, later, NONE)


def _leader_since(
    history: History, logs: Sequence[ReplicaLog], from_ns: int
) -> tuple[ReplicaLog | None, int]:
    """Log and epoch of the leader that led from a time until its disk was read; None if unknown."""
    changes, partition = partition_changes(history), logs[0].partition
    until_ns = max(log.time_ns for log in logs)
    if not changes.is_complete(partition, until_ns):
        return None, NONE
    led = {(state.leader, state.leader_epoch) for state in changes.possible(partition, from_ns, NEVER)}
    if len(led) != 1:
        return None, NONE
    ((leader, epoch),) = led
    name = recorded_setup(history).names.get(leader)
    return next((log for log in logs if log.node == name), None), epoch


def _within(log: ReplicaLog, first: int, end: int) -> Booleans:
    return (log["last_offset"] >= first) & (log["base_offset"] < end)


def _shared(left: ReplicaLog, right: ReplicaLog, committed: ComparedRange) -> tuple[Integers, Integers]:
    """Rows of the batches that begin at the same offset in two logs, within the range that both must have."""
    first, end = max(left.start, right.start), committed.end
    one, another = (np.flatnonzero(_within(log, first, end)) for log in (left, right))
    _, mine, others = np.intersect1d(
        left["base_offset"][one], right["base_offset"][another], return_indices=True
    )
    return one[mine], another[others]


def _out_of_line(left: ReplicaLog, right: ReplicaLog, committed: ComparedRange) -> list[int]:
    """Offsets at which two logs together have overlapping batches, or a decreasing epoch."""
    first, end = max(left.start, right.start), committed.end
    names = ("base_offset", "last_offset", "leader_epoch")
    both = [
        np.stack([log[name][_within(log, first, end)] for name in names], axis=1) for log in (left, right)
    ]
    base, last, epoch = np.unique(np.concatenate(both), axis=0).T
    reach = np.maximum.accumulate(last)[:-1]
    bad: Booleans = (base[1:] <= reach) | (epoch[1:] < epoch[:-1])
    found: list[int] = base[1:][bad].tolist()
    return found


def _batch(log: ReplicaLog, offset: int) -> str:
    """Return the batch that spans an offset as text."""
    row = int(log.rows_at(np.array([offset]))[0])
    if row == NONE:
        return "no batch"
    fields = {name: int(log.columns[name][row]) for name in ("base_offset", *_KEPT, "count", "crc")}
    return "a batch with " + ", ".join(
        f"{name.replace('_', ' ')} {number}" for name, number in fields.items()
    )
