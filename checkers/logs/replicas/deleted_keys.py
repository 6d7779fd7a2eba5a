"""Judges tombstones of a compacted topic: a deleted key stays deleted.

Cleaning removes the records before a tombstone no later than the tombstone.  So a log that has a record of a
key also has the later tombstone.  There is one exception: the replica fetched the record before it was
removed elsewhere, and fetched the rest of the log after the tombstone had been removed.  This requires a
replica that was out of sync for longer than ``delete.retention.ms``, because records that an in-sync replica
lacks are not committed, and so are not cleaned.  Only the leader matters, because readers receive its
records.  Tombstones of transactions count if these were certainly committed, and records of aborted ones
count for nothing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Columns, Integers, PartitionName, SendOutcome, Tombstones
from checkers.evidence.loading import all_columns_of
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.logs.replicas.anomalies import DELETED_KEY_RETURNED
from checkers.logs.replicas.known_records import known_of
from checkers.logs.replicas.returned import CompletedFinalRead
from checkers.verdict.verdict import Anomaly


class Newest(NamedTuple):
    """The last record of every key.

    Attributes:
        offset: shape (keys,), ascending.
        value: shape (keys,), values at those offsets.
    """

    offset: Integers
    value: Integers


def without_expired(columns: Columns, partition: PartitionName, newest: Newest, until_ns: int) -> Newest:
    """The last records that must exist at a time.

    These are all last records except tombstones that may have been removed by then, and records that such a
    tombstone deleted.  Another replica may have cleaned both, and a replica that was out of sync for longer
    than tombstones are kept never received the tombstone.
    """
    marks = columns.tombstones.get(partition.topic)
    if marks is None:
        return newest
    order = np.argsort(columns.sends.value, kind="stable")
    place = np.searchsorted(columns.sends.value[order], newest.value)
    sent = np.append(order, NONE)[place]
    since_ns = np.append(columns.sends.invoked_ns, 0)[sent]
    due = ~marks.among(newest.value) | (until_ns - since_ns < marks.kept_ns)
    deleted = _deleted_until(columns, columns.partitions.index(partition), marks, until_ns - marks.kept_ns)
    due &= newest.offset >= deleted[newest.value % marks.keys]
    return Newest(newest.offset[due], newest.value[due])


def _deleted_until(columns: Columns, code: int, marks: Tombstones, sent_ns: int) -> Integers:
    """The highest possible offset of a tombstone sent by a time, for each key; -1 if there is none."""
    sends = columns.sends
    rows = np.flatnonzero(
        (sends.partition == code) & (sends.invoked_ns <= sent_ns) & marks.among(sends.value)
    )
    rows = rows[~np.isin(sends.outcome[rows], (SendOutcome.FAIL, SendOutcome.ABORTED))]
    deleted = np.full(marks.keys, NONE, dtype=np.int64)
    offset = np.where(sends.offset[rows] == NONE, np.iinfo(np.int64).max, sends.offset[rows])
    np.maximum.at(deleted, sends.value[rows] % marks.keys, offset)
    return deleted


def find_deleted_keys(
    history: History, log: ReplicaLog, reads: Sequence[CompletedFinalRead], figures: Counter[str]
) -> Iterator[Anomaly]:
    """One finding for each final read that returned a record of a key, but not the key's tombstone.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        log: the log of the broker that has led since reading began.
        reads: complete final reads of its partition.
        figures: counts the keys that were compared.
    """
    columns, partition = all_columns_of(history), log.partition
    marks = columns.tombstones.get(partition.topic)
    if marks is None or _out_of_sync_ns(history, log) >= marks.kept_ns:
        return
    offset, value, committed = known_of(columns, columns.partitions.index(partition))
    key = value % marks.keys
    order = np.lexsort((offset, key))
    last = order[np.flatnonzero(np.diff(key[order], append=NONE))]
    last = last[marks.among(value[last]) & committed[last]]
    figures["deleted_keys"] += len(last)
    for read in reads:
        gone = last[(offset[last] < read.end) & ~np.isin(offset[last], read.offsets)]
        given = np.isin(offset, read.offsets)
        back = [row for row in gone.tolist() if bool((given & (key == key[row])).any())]
        if back:
            older, mark = int(offset[given & (key == key[back[0]])].max()), int(offset[back[0]])
            yield DELETED_KEY_RETURNED.found(
                f"{read.client} received offset {older} of {partition}, but not its tombstone at {mark}",
                subject=f"{partition}@{older}",
                time_ns=history.operations[read.op].time_ns,
                witness=(read.op,),
                explanation=(
                    f"Key {key[back[0]]} was deleted at offset {mark}.",
                    f"{read.client} read to {read.end} and received records of {len(back)} deleted keys.",
                ),
            )


def _out_of_sync_ns(history: History, log: ReplicaLog) -> int:
    """The longest time a replica may have been out of the ISR before it rejoined, by the metadata log."""
    changes, names = partition_changes(history), recorded_setup(history).names
    longest, left_ns = 0, NEVER
    for state in changes.states[log.partition]:
        span = changes.span(state)
        if log.node in {names.get(number) for number in state.isr}:
            longest = max(longest, span.to_ns - left_ns)
            left_ns = NEVER
        else:
            left_ns = min(left_ns, span.from_ns)
    return longest
