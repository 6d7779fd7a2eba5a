"""Which replicas had which records at the end: the batches of all logs that were read, as columns.

`batches_of` reads them from a history.  To resolve a record whose outcome is unknown:

    batches = batches_of(history)
    fates = batches.fates(PartitionName("log-0", 3), offsets)   # offsets: int64, shape (n,)
    fates.held                                # bool, shape (nodes, n): nodes[i] has offset j
    fates.producer_id, fates.producer_epoch, fates.sequence     # int64, shape (n,): who appended it
    fates.leader_epoch, fates.transactional, fates.control      # under which leader, and as what

A log is known to the precision of a batch: an offset is held if a batch spans it.  In a compacted topic, a
batch may span offsets whose records were removed.  There, held means that the record may exist, and not held
means that it was removed. `readable` lists the nodes whose logs were read.  An offset that none of them holds
is lost only if all logs were read.  If one log has an offset twice, which the checker reports, the batch that
starts last counts.

Nothing loops over batches in Python; memory is 60 bytes per batch and replica.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.columns.tables import NONE, Booleans, Integers, PartitionName
from checkers.history.operations import History, Operation, once
from checkers.history.packing import unpack
from checkers.history.replicas import (
    COLUMN_TYPES,
    METADATA_LOG,
    METADATA_TOPIC,
    REPLICA,
    ReplicaSeen,
    offsets_left,
    replica_seen,
    thinned,
)

METADATA_PARTITION = PartitionName(METADATA_TOPIC, 0)
TRANSACTIONAL = 1 << 4
CONTROL = 1 << 5
ABORT, COMMIT = 0, 1
"""Types of the control records that end transactions (KIP-98)."""


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """One partition's log on one node, batches in the order of its files.

    Attributes:
        node: name of the node.
        partition: which partition.
        seen: the observation, without its columns.
        op: index of the observation in the history.
        time_ns: when it was reported.
        columns: by the names of docs/histories.md, shape (batches,), each in its own integer type.
        left: offsets of the records of batches that lost some; None if not reported.
    """

    node: str
    partition: PartitionName
    seen: ReplicaSeen
    op: int
    time_ns: int
    columns: Mapping[str, NDArray[np.integer]]
    left: NDArray[np.integer] | None = None

    def __getitem__(self, name: str) -> Integers:
        """A column as 64-bit integers."""
        return self.columns[name].astype(np.int64)

    def __len__(self) -> int:
        """Number of batches of the log."""
        return len(self.columns["base_offset"])

    @property
    def readable(self) -> bool:
        """Whether the log could be read."""
        return self.seen.error is None

    @property
    def start(self) -> int:
        """First offset that the node would still serve; 0 if unknown."""
        return self.seen.log_start or 0

    @property
    def end(self) -> int:
        """Offset after its last whole batch; 0 if unknown."""
        return self.seen.end or 0

    @property
    def transactional(self) -> Booleans:
        """Which batches belong to transactions, markers included."""
        flags: Booleans = (self["attributes"] & TRANSACTIONAL) != 0
        return flags

    @property
    def control(self) -> Booleans:
        """Which batches are control batches."""
        flags: Booleans = (self["attributes"] & CONTROL) != 0
        return flags

    def below(self, offset: int) -> "ReplicaLog":
        """The batches that end below an offset."""
        rows = self["last_offset"] < offset
        return replace(self, columns={name: column[rows] for name, column in self.columns.items()})

    def rows_at(self, offsets: Integers) -> Integers:
        """The batch that spans each offset, `NONE` if no batch does; has the shape of `offsets`."""
        if not len(self):
            return np.full(len(offsets), NONE, dtype=np.int64)
        base = self["base_offset"]
        order = np.argsort(base, kind="stable")
        place = np.searchsorted(base[order], offsets, side="right") - 1
        rows = order[np.maximum(place, 0)]
        spanned = (place >= 0) & (offsets <= self["last_offset"][rows])
        return np.where(spanned, rows, NONE)

    def has(self, offsets: Integers) -> Booleans:
        """Whether the log has a record at each offset.

        An offset counts as held if it is unknown which records of its batch are left.
        """
        rows = self.rows_at(offsets)
        there: Booleans = (rows != NONE) & (np.append(self["count"], 0)[rows] > 0)
        if self.left is not None:
            thin = np.append(np.isin(np.arange(len(self)), thinned(self.columns)), np.False_)[rows]
            there &= ~thin | np.isin(offsets, self.left)
        return there

    def ranges(self) -> list[tuple[int, int]]:
        """First and last offset of every stretch without a gap, in the order of offsets."""
        if not len(self):
            return []
        base, last = self["base_offset"], self["last_offset"]
        order = np.argsort(base, kind="stable")
        base, reach = base[order], np.maximum.accumulate(last[order])
        begins = np.flatnonzero(np.r_[True, base[1:] > reach[:-1] + 1])
        ends = np.r_[begins[1:] - 1, len(base) - 1]
        return [(int(first), int(final)) for first, final in zip(base[begins], reach[ends], strict=True)]


class Fates(NamedTuple):
    """What replicas report of a partition's offsets.  All but `held` have the shape (offsets,).

    Attributes:
        nodes: names of the nodes whose logs were read; one for each row of `held`.
        held: shape (nodes, offsets), whether a batch of that node's log spans the offset.
        producer_id: of the batch on the first node that holds it; `NONE` if no node does.
        producer_epoch: of the same batch.
        sequence: the record's sequence number, which is the batch's base sequence plus the distance; `NONE`
            if there is none.
        leader_epoch: of the same batch: the epoch of the leader that appended it.
        transactional: whether its batch belongs to a transaction.
        control: whether it is a marker, not a record of a producer.
    """

    nodes: tuple[str, ...]
    held: Booleans
    producer_id: Integers
    producer_epoch: Integers
    sequence: Integers
    leader_epoch: Integers
    transactional: Booleans
    control: Booleans


@dataclass(frozen=True, slots=True)
class Batches:
    """All recorded logs of the run's topics, by partition and node, in the order of their names.

    Attributes:
        logs: every replica's log, including those that could not be read.
        metadata_logs: every node's metadata log.
    """

    logs: tuple[ReplicaLog, ...]
    metadata_logs: tuple[ReplicaLog, ...]

    @property
    def partitions(self) -> tuple[PartitionName, ...]:
        """Every partition that has a reported log, in the order of their names."""
        return tuple(dict.fromkeys(log.partition for log in self.logs))

    def of(self, partition: PartitionName) -> tuple[ReplicaLog, ...]:
        """All logs of a partition."""
        return tuple(log for log in self.logs if log.partition == partition)

    def readable(self, partition: PartitionName) -> tuple[str, ...]:
        """Nodes whose log of that partition was read."""
        return tuple(log.node for log in self.of(partition) if log.readable)

    def ranges(self, partition: PartitionName) -> dict[str, list[tuple[int, int]]]:
        """First and last offset of every gapless range that a node holds, by node, of logs that were read."""
        return {log.node: log.ranges() for log in self.of(partition) if log.readable}

    def fates(self, partition: PartitionName, offsets: Integers) -> Fates:
        """The state of these offsets of a partition on all replicas."""
        logs = [log for log in self.of(partition) if log.readable]
        rows = [log.rows_at(offsets) for log in logs]
        columns = {name: np.full(len(offsets), unknown, dtype=np.int64) for name, unknown in _COLUMNS.items()}
        for log, found in zip(reversed(logs), reversed(rows), strict=True):
            held = found != NONE
            for name, answer in columns.items():
                answer[held] = log[name][found[held]]
        sequence = columns["base_sequence"] + offsets - columns["base_offset"]
        return Fates(
            nodes=tuple(log.node for log in logs),
            held=np.array([found != NONE for found in rows]).reshape(len(logs), len(offsets)),
            producer_id=columns["producer_id"],
            producer_epoch=columns["producer_epoch"],
            sequence=np.where(columns["base_sequence"] == NONE, NONE, sequence),
            leader_epoch=columns["leader_epoch"],
            transactional=(columns["attributes"] & TRANSACTIONAL) != 0,
            control=(columns["attributes"] & CONTROL) != 0,
        )


_COLUMNS = {
    "base_offset": NONE,
    "base_sequence": NONE,
    "producer_id": NONE,
    "producer_epoch": NONE,
    "leader_epoch": NONE,
    "attributes": 0,
}
"""Columns of `Fates` that come from batches, each with its value for unknown."""


@once
def batches_of(history: History) -> Batches:
    """All replicas' logs in the history.  If a log was recorded twice, the last one counts.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    logs: dict[tuple[PartitionName, str], ReplicaLog] = {}
    for operation in history.of("observe"):
        if operation.key in (REPLICA, METADATA_LOG):
            log = _log(operation)
            logs[log.partition, log.node] = log
    ordered = [log for _, log in sorted(logs.items())]
    return Batches(
        logs=tuple(log for log in ordered if log.partition != METADATA_PARTITION),
        metadata_logs=tuple(log for log in ordered if log.partition == METADATA_PARTITION),
    )


def _log(operation: Operation) -> ReplicaLog:
    seen = replica_seen(operation)
    texts = seen.batches
    empty: dict[str, NDArray[np.integer]] = {name: np.empty(0, dtype) for name, dtype in COLUMN_TYPES.items()}
    columns = empty | {
        name: unpack(texts[name], name, seen.count, COLUMN_TYPES) for name in COLUMN_TYPES if name in texts
    }
    return ReplicaLog(
        node=operation.node or "",
        partition=PartitionName(seen.topic, seen.partition),
        seen=seen,
        op=operation.index,
        time_ns=operation.time_ns,
        columns=columns,
        left=offsets_left(seen, columns),
    )
