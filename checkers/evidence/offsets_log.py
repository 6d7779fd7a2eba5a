"""The parts of ``__consumer_offsets`` that were read while brokers wrote it: commits and records of groups.

The end of a log determines its prefix: a log with a batch of a leader epoch has everything that the leader of
that epoch had before it (KIP-101).  So the records before a given record are the same in every log that has
it.  They are known, epoch by epoch, if all of them were read before compaction removed anything.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NONE
from checkers.history.observed import COMMITS, CommitsSeen, CommitWritten, GroupWritten
from checkers.history.operations import History, once


class Where(NamedTuple):
    """Group, topic and partition of a commit, and the offset that it commits."""

    group: str
    topic: str
    partition: int
    offset: int


class RecordPlace(NamedTuple):
    """The position of a record: its offset, and the leader epoch in which it was appended."""

    offset: int
    epoch: int


class Key(NamedTuple):
    """The key of a record.

    Compaction keeps the last of several records with one key.
    """

    group: str
    topic: str
    partition: int


class OffsetRecord(NamedTuple):
    """A record about a group's offset.

    Attributes:
        key: the key of the record.
        committed: the offset that it commits; `NONE` for a deletion.
        producer: id of the producer in whose transaction it was written; `NONE` outside of one.
        op: index of the observation that reported it.
    """

    key: Key
    committed: int
    producer: int
    op: int


class GroupEntry(NamedTuple):
    """A record about a group of KIP-848's protocol, and the index of the observation that reported it."""

    record: GroupWritten
    op: int


class Marker(NamedTuple):
    """The end of a transaction in the log: its producer, and whether it is an abort."""

    producer: int
    aborts: bool


class EpochRange(NamedTuple):
    """A range of offsets, without its end, that were appended in one leader epoch."""

    epoch: int
    first: int
    end: int


class Chain:
    """The contents of a log up to one of its records, as far back as all of it was read.

    Args:
        segments: ranges of the log, from the last to the first, each adjacent to the next; at least one.

    Attributes:
        whole: whether the segments begin at offset 0.
    """

    def __init__(self, segments: Sequence[EpochRange]) -> None:
        self.whole = segments[-1].first == 0
        self._of_epoch = {segment.epoch: segment for segment in segments}

    def has(self, row: RecordPlace) -> bool:
        """Whether a record is in that log and was read."""
        segment = self._of_epoch.get(row.epoch)
        return segment is not None and segment.first <= row.offset < segment.end


class Written:
    """The records that were read of one partition of the offsets topic.

    Attributes:
        rows: for each commit outside of transactions, the first record.
        places: for each commit, all records, including those within transactions.
        entries: all recorded records about groups' offsets.
        markers: ends of transactions.
        opened: records of transactions with the id of the producer, of any content.
        groups: records about groups of KIP-848's protocol.
        unreadable: whether there are records of transactions that could not be decoded.
    """

    def __init__(self) -> None:
        self.rows: dict[Where, RecordPlace] = {}
        self.places: dict[Where, set[RecordPlace]] = defaultdict(set)
        self.entries: dict[RecordPlace, OffsetRecord] = {}
        self.markers: dict[RecordPlace, Marker] = {}
        self.opened: dict[RecordPlace, int] = {}
        self.groups: dict[RecordPlace, GroupEntry] = {}
        self.unreadable = False
        self._read: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._before: dict[RecordPlace, int] = {}

    @property
    def count(self) -> int:
        """Number of commits outside of transactions that were read."""
        return sum(each.producer == NONE != each.committed for each in self.entries.values())

    @property
    def tips(self) -> list[RecordPlace]:
        """The last records of all ranges that were read, those of the newest leader epoch first."""
        ends = (RecordPlace(end - 1, epoch) for epoch, some in self._read.items() for _, end in some)
        return sorted(ends, key=lambda row: (row.epoch, row.offset), reverse=True)

    def add(
        self, epoch: int, span: tuple[int, int], before: int | None, records: Iterable[CommitWritten], op: int
    ) -> None:
        """Add the records that were read of a range, from one offset to before another."""
        first, end = span
        self._read[epoch].append((first, end))
        if before is not None and before < epoch:
            self._before[RecordPlace(first, epoch)] = before
        for record in records:
            where, row = self.commit(epoch, record, NONE, op)
            self.rows[where] = min(row, self.rows.get(where, row))

    def commit(self, epoch: int, record: CommitWritten, producer: int, op: int) -> tuple[Where, RecordPlace]:
        """Add a record that commits an offset.

        Returns the commit and the record's position.
        """
        offset, group, topic, partition, committed = record
        where, row = Where(group, topic, partition, committed), RecordPlace(offset, epoch)
        self.places[where].add(row)
        self.entries[row] = OffsetRecord(Key(group, topic, partition), committed, producer, op)
        return where, row

    def merge(self) -> None:
        """Join adjacent ranges of each epoch; to be called once all ranges were added."""
        for epoch, stretches in self._read.items():
            self._read[epoch] = _joined(stretches)

    def reaches(self, row: RecordPlace) -> bool:
        """Whether everything that the log has up to a record was read."""
        chain = self.chain(row)
        return chain is not None and chain.whole

    def chain(self, row: RecordPlace) -> Chain | None:
        """The log up to a record, as far back as it was read; None if the record was not read."""
        segments: list[EpochRange] = []
        at, epoch = row
        first = self._beginning(at, epoch)
        while first is not None:
            segments.append(EpochRange(epoch, first, at + 1))
            before = self._before.get(RecordPlace(first, epoch))
            if before is None:
                break
            at, epoch = first - 1, before
            first = self._beginning(at, epoch)
        return Chain(segments) if segments else None

    def _beginning(self, offset: int, epoch: int) -> int | None:
        """The start of the gapless range of read offsets that contains an offset."""
        stretches = self._read.get(epoch, [])
        place = bisect_right(stretches, offset, key=lambda stretch: stretch[0]) - 1
        if place < 0 or stretches[place][1] <= offset:
            return None
        return stretches[place][0]


@once
def written_of(history: History) -> dict[int, Written]:
    """The records that were read of the offsets topic, by partition number.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: dict[int, Written] = defaultdict(Written)
    for operation in history.observed(COMMITS):
        seen = msgspec.convert(operation.value, CommitsSeen)
        for number, epoch, first, end, before, records in seen.stretches:
            if records is not None:
                found[number].add(epoch, (first, end), before, records, operation.index)
        for number, epoch, offset, group, topic, partition in seen.deleted or ():
            entry = OffsetRecord(Key(group, topic, partition), NONE, NONE, operation.index)
            found[number].entries[RecordPlace(offset, epoch)] = entry
        _take_transactions(found, seen, operation.index)
        for record in seen.groups or ():
            place = RecordPlace(record.offset, record.leader_epoch)
            found[record.partition].groups[place] = GroupEntry(record, operation.index)
    for part in found.values():
        part.merge()
    return dict(found)


@once
def last_read_ns(history: History) -> int:
    """When the last reading that found anything began: what brokers had written by then was read; -1: never.

    An observer reads all disks that it can read, one after the other.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    seen = (msgspec.convert(operation.value, CommitsSeen) for operation in history.observed(COMMITS))
    return max((one.began_ns for one in seen), default=NONE)


@once
def has_all_records(history: History) -> bool:
    """Whether the history has all records of the offsets topic that were read.

    Older runs omit some.
    """
    seen = [msgspec.convert(operation.value, CommitsSeen) for operation in history.observed(COMMITS)]
    return bool(seen) and all(one.deleted is not None and one.transactional is not None for one in seen)


def _take_transactions(found: dict[int, Written], seen: CommitsSeen, op: int) -> None:
    for number, epoch, offset, producer, what, records in seen.transactional or ():
        part, row = found[number], RecordPlace(offset, epoch)
        if what == "data":
            part.opened[row] = producer
            part.unreadable |= records is None
            for record in records or ():
                part.commit(epoch, record, producer, op)
        else:
            part.markers[row] = Marker(producer, what == "abort")


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or are adjacent, in order."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(stretches):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((first, end))
    return found
