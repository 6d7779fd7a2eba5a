"""The logs of share coordinators as all rules about stored states walk over them: record by record, in order.

For each log this has the names of its share partitions and the records that begin a state (`resets`), and it
reports where records are missing, so that rules compare only records that follow each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, GroupPartition, PartitionName
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.share_states import ShareStatesLog, share_places, share_states_of
from checkers.history.operations import History, once
from checkers.history.share_states import SHARE_BATCH_TYPES, Kind
from checkers.share_groups.resets import Resets, resets_of
from checkers.verdict.verdict import Anomaly


class StoredRecord(NamedTuple):
    """A record of a log.

    Attributes:
        row: its place among the records that were read, from 0.
        offset: its offset.
        place: code of its share partition.
        kind: as `Kind`.
        snapshot_epoch: its snapshot epoch.
        state_epoch: its state epoch; an update has none.
        leader: leader epoch of the share partition.
        start: its start offset.
        batches: first and last offset, state and delivery count of each batch.
        follows: whether the record before it is that of the offset before.
        begun: whether it begins a state, as `Resets` has it.
        asked: whether it also has a start offset that was requested.
        late: whether a request for that start offset has no known outcome.
    """

    row: int
    offset: int
    place: int
    kind: int
    snapshot_epoch: int
    state_epoch: int
    leader: int
    start: int
    batches: list[tuple[int, int, int, int]]
    follows: bool
    begun: bool
    asked: bool
    late: bool


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch of states: its share partition, record, offsets, state and delivery count."""

    name: GroupPartition
    row: int
    first: int
    last: int
    state: int
    count: int


class StoredFinding(NamedTuple):
    """A finding about a log.

    Attributes:
        name: its share partition.
        anomaly: the finding.
        row: the record that can't follow the records before it; None if the log disagrees with members.
    """

    name: GroupPartition
    anomaly: Anomaly
    row: int | None = None


@dataclass(frozen=True, slots=True)
class StoredLog:
    """The log of one partition of ``__share_group_state``.

    Attributes:
        partition: the partition.
        log: its records.
        names: its share partitions by code; None for those of topics that the run did not create.
        resets: which of its records begin a state.
    """

    partition: PartitionName
    log: ShareStatesLog
    names: list[GroupPartition | None]
    resets: Resets

    def name_of(self, place: int) -> GroupPartition:
        """The share partition of a code; of unknown topics, with the topic's id."""
        return self.names[place] or GroupPartition(*self.log.seen.places[place])

    def at(self, row: int) -> str:
        """The place of a record, for texts."""
        return f"{self.partition}@{self.log.records['offset'][row]}"

    def walk(self) -> Iterator[StoredRecord]:
        """All records, in the order of the log."""
        batches = list(zip(*(self.log.batches[name].tolist() for name in SHARE_BATCH_TYPES), strict=True))
        names = (
            "offset",
            "place",
            "kind",
            "snapshot_epoch",
            "state_epoch",
            "share_epoch",
            "start",
            "batches",
        )
        columns = (self.log.records[name].tolist() for name in names)
        reasons = (column.tolist() for column in self.resets)
        following, taken = NONE, 0
        for row, (fields, (begun, asked, late)) in enumerate(
            zip(zip(*columns, strict=True), zip(*reasons, strict=True), strict=True)
        ):
            offset, place, kind, snapshot, state, leader, start, count = fields
            mine, taken = batches[taken : taken + count], taken + count
            epochs, reason = (snapshot, state, leader), (begun, asked, late)
            yield StoredRecord(row, offset, place, kind, *epochs, start, mine, offset == following, *reason)
            following = offset + 1

    def batches(self) -> Iterator[StoredBatch]:
        """The batches of share partitions of the run's topics, in the order of the log."""
        columns = [self.log.batches[name].tolist() for name in SHARE_BATCH_TYPES]
        places = self.log.records["place"][self.log.row].tolist()
        for row, code, *rest in zip(self.log.row.tolist(), places, *columns, strict=True):
            name = self.names[code]
            if name is not None:
                yield StoredBatch(name, row, *rest)

    def kept(self) -> list[GroupPartition]:
        """The share partitions whose states are never deleted or begun again."""
        place = self.log.records["place"]
        again = _begun_again(self.log) | self.resets.late
        left = np.setdiff1d(place, place[(self.log.records["kind"] == Kind.REMOVED) | again]).tolist()
        return [name for name in map(self.names.__getitem__, left) if name is not None]


@once
def stored_logs(history: History) -> tuple[StoredLog, ...]:
    """The logs of share coordinators that were recorded, by number of the partition.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    return tuple(
        StoredLog(PartitionName(SHARES_TOPIC, number), log, names, resets_of(history, log, names))
        for number, log in sorted(share_states_of(history).items())
        for names in [share_places(history, log)]
    )


def _begun_again(log: ShareStatesLog) -> Booleans:
    """Which records begin a state again: snapshots with a new state epoch, or an earlier start offset.

    Kafka may initialise a state several times before it has states of records.  Nothing is lost then.
    """
    begun = np.zeros(len(log.records["place"]), np.bool_)
    snapshots = log.records["kind"] == Kind.SNAPSHOT
    for code in np.unique(log.records["place"]):
        here = log.records["place"] == code
        rows = np.flatnonzero(here & snapshots)
        filled = np.flatnonzero(here & (log.records["batches"] > 0))
        used = rows[1:] > filled.min(initial=len(here))
        begun[rows[1:]] |= (np.diff(log.records["state_epoch"][rows]) > 0) & used
        rows = np.flatnonzero(here)
        start = log.records["start"][rows]
        begun[rows] |= snapshots[rows] & (start < np.maximum.accumulate(start))
    return begun
