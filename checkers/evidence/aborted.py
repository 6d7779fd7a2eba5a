"""Aborted transactions: those that a log shows, and those in a replica's index (``.txnindex``).

A broker answers a fetch at read_committed with the entries of its index, by which the consumer leaves out the
records of aborted transactions (KIP-98).
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NONE, Integers, PartitionName
from checkers.evidence.replicas import ABORT, COMMIT, ReplicaLog
from checkers.history.operations import History, Operation, once
from checkers.history.replicas import ABORTED, AbortedSeen

Replica = tuple[str, PartitionName]
"""A node and a partition."""


class Indexed(NamedTuple):
    """The indexes of one replica; the arrays have the shape (entries,), in the order of the files.

    Attributes:
        seen: the observation.
        op: its index in the history.
        time_ns: when it was recorded.
        segment: base offset of the segment whose index has the entry.
        producer_id: whose transaction was aborted.
        first: offset of its first record.
        marker: offset of its marker.
    """

    seen: AbortedSeen
    op: int
    time_ns: int
    segment: Integers
    producer_id: Integers
    first: Integers
    marker: Integers

    @property
    def damaged(self) -> dict[int, str]:
        """What is wrong with the indexes that could not be read to their ends, by segment."""
        return {each.segment: each.problem for each in self.seen.segments if each.problem is not None}

    def segments_of(self, offsets: Integers) -> Integers:
        """Base offset of the segment of each offset, `NONE` below the first segment that was read."""
        bases = np.array([NONE, *(each.segment for each in self.seen.segments)], dtype=np.int64)
        return bases[np.searchsorted(bases, offsets, side="right") - 1]


class Aborts(NamedTuple):
    """The abort markers of one log; all have the shape (markers,), by producer and then in the log's order.

    Attributes:
        producer_id: whose transaction the marker ends.
        marker: offset of the marker.
        first: base offset of the first batch with records of the transaction from some offset on; `NONE` if
            there is none.
        before: offset of the producer's marker before this one; `NONE` if the log has none.
    """

    producer_id: Integers
    marker: Integers
    first: Integers
    before: Integers


@once
def indexes_of(history: History) -> Mapping[Replica, Indexed]:
    """The indexes of each replica.  If they were recorded twice, the last ones count.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return dict(map(_indexed, history.observed(ABORTED)))


def _indexed(operation: Operation) -> tuple[Replica, Indexed]:
    seen = msgspec.convert(operation.value, AbortedSeen)
    rows = [(index.segment, *entry) for index in seen.segments for entry in index.entries]
    segment, producer, first, marker, _ = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    replica = operation.node or "", PartitionName(seen.topic, seen.partition)
    return replica, Indexed(seen, operation.index, operation.time_ns, segment, producer, first, marker)


_COLUMNS = ("producer_id", "base_offset", "last_offset", "control")
"""Columns that show transactions; the last one is the type of a marker, -1 for data."""


def aborts_of(log: ReplicaLog, start: int) -> Aborts:
    """The abort markers of a log.

    Args:
        log: batches in the order of its files.
        start: records below this offset do not count as a transaction's first.
    """
    rows = np.flatnonzero(log.transactional)
    columns = {name: log.columns[name][rows].astype(np.int64) for name in _COLUMNS}
    order = np.argsort(columns["producer_id"], kind="stable")
    producer, base, last, kind = (columns[name][order] for name in _COLUMNS)
    markers = np.flatnonzero(np.isin(kind, (ABORT, COMMIT)))
    before = np.append(NONE, markers[:-1])[: len(markers)]
    begins = np.searchsorted(producer, producer[markers])
    before = np.where(before >= begins, before, NONE)
    data = np.flatnonzero((kind == NONE) & (last >= start))
    place = np.append(data, len(rows))[np.searchsorted(data, np.maximum(before + 1, begins))]
    offsets = np.append(base, NONE)  # the last one is the offset of place NONE
    first = np.where(place < markers, offsets[place], NONE)
    aborting = kind[markers] == ABORT
    found = (producer[markers], base[markers], first, offsets[before])
    return Aborts(*(each[aborting] for each in found))
