"""The offset at which each leader epoch of a partition started, as replicas stored it (KIP-101).

When a broker becomes leader, it stores its log's end as the start of its epoch.  Followers take this entry
over with the records.  An epoch that started where the next one did is not kept, because it added no records.
Epochs that ended below the start of the log are not kept either, because DeleteRecords and retention remove
their entries with the records.  The broker's log file still has the line that it wrote when it started such
an epoch.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from checkers.columns.tables import PartitionName
from checkers.evidence.replicas import ReplicaLog, batches_of
from checkers.history.logged import EPOCH_BEGUN, EpochBegun
from checkers.history.missing_logs import nodes_lacking
from checkers.history.observed import Entries, LeaderEpochsSeen
from checkers.history.operations import History, Operation, once

LEADER_EPOCHS = "leader-epochs"
"""The key of the observations."""


class Noted(msgspec.Struct, frozen=True):
    """The leader epochs that one node's replica stored.

    Attributes:
        node: name of the node.
        partition: which partition.
        entries: epochs and their first offsets, in the order of the file.
        op: index of the observation in the history.
        time_ns: when it was reported.
    """

    node: str
    partition: PartitionName
    entries: Entries
    op: int
    time_ns: int


class Starts(msgspec.Struct, frozen=True):
    """Where an epoch began, as several replicas report.

    Attributes:
        epoch: the epoch itself, or the next one that a replica has recorded.
        offsets: all reported offsets, ascending; more than one if replicas disagree.
    """

    epoch: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LeaderEpochs:
    """The offsets at which leader epochs started.

    Attributes:
        noted: the entries that replicas stored, by partition and node.
        appended: the same, from the first batch of each epoch in the replicas' logs.
        begun: the starts that brokers logged for the epochs that they led.
        logged: all epochs that brokers logged as their leaders, by node; only brokers all of whose lines on
            epochs were recorded.
    """

    noted: Mapping[PartitionName, Mapping[str, Entries]]
    appended: Mapping[PartitionName, Mapping[str, Entries]]
    begun: Mapping[PartitionName, Mapping[str, Mapping[int, int]]]
    logged: Mapping[str, frozenset[tuple[PartitionName, int]]]

    def of(self, partition: PartitionName, node: str) -> Entries:
        """The entries that one node stored; none if it reported none."""
        return self.noted.get(partition, {}).get(node, [])

    def begun_by(self, partition: PartitionName, node: str) -> Mapping[int, int]:
        """Epochs that one node led, each with the end of its log at the start, as the node logged it."""
        return self.begun.get(partition, {}).get(node, {})

    def never_begun(self, partition: PartitionName, node: str, epoch: int) -> bool:
        """Whether a node, although it was the leader of an epoch, certainly appended no record in it.

        It logs the start of an epoch before the first append (``Partition.makeLeader``), and no replica has
        the epoch.
        """
        logged = self.logged.get(node)
        if logged is None or (partition, epoch) in logged:
            return False
        known = (by_partition.get(partition, {}).values() for by_partition in (self.noted, self.appended))
        return not any(epoch == each for some in known for entries in some for each, _ in entries)

    def starts(self, partition: PartitionName, epoch: int) -> Starts | None:
        """Where an epoch, or the next epoch that a replica recorded, started; None if not recorded."""
        for by_partition in (self.noted, self.appended):
            entries = [
                each for some in by_partition.get(partition, {}).values() for each in some if each[0] >= epoch
            ]
            if entries:
                first = min(number for number, _ in entries)
                return Starts(first, tuple(sorted({start for number, start in entries if number == first})))
        return None


def checkpoints_of(history: History) -> Iterator[Noted]:
    """Every leader-epoch checkpoint that the history reports, in the order of the observations.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    for operation in history.observed(LEADER_EPOCHS):
        yield _noted(operation)


@once
def leader_epochs(history: History) -> LeaderEpochs:
    """The starts of leader epochs that replicas report.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    noted: dict[PartitionName, dict[str, Entries]] = {}
    for each in checkpoints_of(history):
        noted.setdefault(each.partition, {})[each.node] = each.entries
    return LeaderEpochs(noted, _appended(batches_of(history).logs), _begun(history), _logged(history))


def starts_of(history: History) -> dict[str, tuple[tuple[int, int], ...]]:
    """Each leader epoch with several first offsets, and the lowest of them, by partition.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    known = leader_epochs(history)
    found: dict[PartitionName, dict[int, int]] = {}
    for notes in (known.noted, known.appended):
        for partition, by_node in notes.items():
            starts = found.setdefault(partition, {})
            for epoch, start in sorted(pair for entries in by_node.values() for pair in entries):
                starts[epoch] = min(start, starts.get(epoch, start))
    return {
        str(partition): tuple(sorted(starts.items()))
        for partition, starts in sorted(found.items())
        if len(starts) > 1
    }


def _noted(operation: Operation) -> Noted:
    seen = msgspec.convert(operation.value, LeaderEpochsSeen)
    partition = PartitionName(seen.topic, seen.partition)
    return Noted(operation.node or "", partition, seen.entries, operation.index, operation.time_ns)


def _begun(history: History) -> dict[PartitionName, dict[str, dict[int, int]]]:
    """The epoch starts that brokers logged while their process already knew an earlier epoch.

    A process that starts as the leader logs the end that its log has then, so that line does not count.

    If a topic was deleted and created again, an epoch's number is ambiguous, so its lines do not count.  If
    not all of a node's lines about epochs were recorded, none of them counts: they may be of an earlier
    topic.
    """
    cut = nodes_lacking(history, EPOCH_BEGUN)
    found: dict[PartitionName, dict[str, dict[int, int]]] = {}
    ids: dict[PartitionName, set[str]] = {}
    for operation in history.observed(EPOCH_BEGUN):
        begun = msgspec.convert(operation.value, EpochBegun)
        if operation.node in cut:
            continue
        name = PartitionName(begun.topic, begun.partition)
        ids.setdefault(name, set()).add(begun.topic_id)
        if begun.previous_epoch >= 0:
            epochs = found.setdefault(name, {}).setdefault(operation.node or "", {})
            epochs.setdefault(begun.epoch, begun.start)
    return {name: nodes for name, nodes in found.items() if len(ids[name]) == 1}


def _logged(history: History) -> dict[str, frozenset[tuple[PartitionName, int]]]:
    """All epochs that each node logged as the leader; a node that logged none may not log such lines."""
    cut = nodes_lacking(history, EPOCH_BEGUN)
    found: dict[str, set[tuple[PartitionName, int]]] = {}
    for operation in history.observed(EPOCH_BEGUN):
        if operation.node not in cut and None not in cut:
            begun = msgspec.convert(operation.value, EpochBegun)
            place = PartitionName(begun.topic, begun.partition), begun.epoch
            found.setdefault(operation.node or "", set()).add(place)
    return {node: frozenset(places) for node, places in found.items()}


def _appended(logs: Iterable[ReplicaLog]) -> dict[PartitionName, dict[str, Entries]]:
    found: dict[PartitionName, dict[str, Entries]] = {}
    for log in logs:
        found.setdefault(log.partition, {})[log.node] = entries_of(log)
    return found


def entries_of(log: ReplicaLog) -> Entries:
    """Epochs of a log's batches, each with the offset of its first batch, in the order of the log."""
    epochs, base = log["leader_epoch"], log["base_offset"]
    first = np.flatnonzero(np.diff(epochs, prepend=-1))
    return list(zip(epochs[first].tolist(), base[first].tolist(), strict=True))
