"""Commits of groups that were acknowledged, and where their records stand in ``__consumer_offsets``.

A coordinator answers a commit once all replicas in sync have its record.  So within a stretch of one broker's
leadership (`checkers.partitions.copies`) the log of every member of the ISR lies behind it.  No answer tells
where the record stands.  It is found by what it commits: group, topic, partition and offset.  Of several that
commit the same the first one counts: whichever of them was acknowledged stands there or behind it, and who
has that one has the first one too.  Why nothing is found where Kafka kept its word:

- *A client asks again, two clients commit the same, or an older offset is committed again*: several records,
  and the first of them counts.  That there is none before it is known: a record counts only where the log was
  read from offset 0 up to it, leader epoch by leader epoch, each batch with all its records.
- *Compaction*: brokers' files are read while they are written.  A batch that has lost records, and one that
  is compressed or could not be read, is none that was read.
- *The coordinator moves, or a deposed one appends what is truncated later*: the first record must be of a
  leader epoch of the stretch.  Truncated records count among the records: they can only hide something.
- *An unclean election, disks that were struck, the topic made again, metadata that is not certain*: the
  stretches end there, as for all records.
- *Commits of transactions* are acknowledged otherwise: they are no records here, and nobody looks for them.
- *Deletions of groups and offsets* (tombstones) append to the log and take nothing from it.
- *Clocks*: all times are the host's; the look began after the answer was there.

What was not acknowledged, or whose record was not read, is not judged.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns import PartitionName
from checkers.coordinators import offsets_partition
from checkers.history import INVOKE, OK, History, Operation, once
from checkers.licences.scene import Scene
from checkers.partitions.copies import Had
from checkers.partitions.kinds import COMMITTED_WITHOUT_MEMBER
from checkers.shapes import CommitsSeen, Committing, CommitWritten

COMMITS = "commits"
"""Key of the observation."""
ACKS = "offsets.commit.required.acks"
"""A config of brokers, before 4.0, by which a commit may be acknowledged before it is replicated."""
_REGISTER = "offset/"
"""How names of registers begin that are committed offsets; group, topic and partition follow."""
_PARTS = 3


class _Committed(msgspec.Struct, frozen=True):
    """What a commit of one offset asks for."""

    topic: str
    partition: int
    offset: int


class Where(NamedTuple):
    """What a commit is about, and the offset that it commits."""

    group: str
    topic: str
    partition: int
    offset: int


class Commit(NamedTuple):
    """A commit that was acknowledged.

    Attributes:
        where: what was committed.
        sent_ns: when it was asked for, nanoseconds.
        told_ns: when it was acknowledged.
        op: index of the operation that tells.
    """

    where: Where
    sent_ns: int
    told_ns: int
    op: int


class Row(NamedTuple):
    """Where a record stands: its offset, and the leader epoch in which it was appended."""

    offset: int
    epoch: int


class Written:
    """What was read of one partition of the offsets topic."""

    def __init__(self) -> None:
        self.rows: dict[Where, Row] = {}
        self.count = 0
        self._read: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._before: dict[Row, int] = {}

    def add(
        self,
        epoch: int,
        first: int,
        end: int,
        before: int | None,
        records: Iterable[CommitWritten],
    ) -> None:
        """Take what was read of a stretch."""
        self._read[epoch].append((first, end))
        if before is not None and before < epoch:
            self._before[Row(first, epoch)] = before
        for offset, group, topic, partition, committed in records:
            where, row = Where(group, topic, partition, committed), Row(offset, epoch)
            self.rows[where] = min(row, self.rows.get(where, row))
            self.count += 1

    def merge(self) -> None:
        """Join the stretches of each epoch that adjoin; to be called once all are there."""
        for epoch, stretches in self._read.items():
            self._read[epoch] = _joined(stretches)

    def reaches(self, row: Row) -> bool:
        """Whether everything was read that the log has up to a record that was."""
        at, epoch = row
        while True:
            first = self._beginning(at, epoch)
            if first == 0:
                return True
            before = None if first is None else self._before.get(Row(first, epoch))
            if first is None or before is None:
                return False
            at, epoch = first - 1, before

    def _beginning(self, offset: int, epoch: int) -> int | None:
        """Where what was read without a gap begins that has an offset."""
        stretches = self._read.get(epoch, [])
        place = bisect_right(stretches, offset, key=lambda stretch: stretch[0]) - 1
        if place < 0 or stretches[place][1] <= offset:
            return None
        return stretches[place][0]


class Committed:
    """Commits that were acknowledged, with the places of their records.

    Args:
        scene: the history.

    Attributes:
        figures: how many there are, of how many the records are known, and how many records were read.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def __init__(self, scene: Scene) -> None:
        self.figures: dict[str, int] = {}
        self._placed: dict[PartitionName, list[tuple[Commit, Row]]] = defaultdict(list)
        written = written_of(scene.history)
        if not written or _acknowledged_early(scene):
            return
        commits = list(acknowledged_commits(scene.history))
        for commit in commits:
            partition = offsets_partition(scene.history, commit.where.group)
            row = None if partition is None else _row(written.get(partition.partition), commit.where)
            if partition is not None and row is not None:
                self._placed[partition].append((commit, row))
        self.figures = {
            "acknowledged_commits": len(commits),
            "commits_with_records": sum(map(len, self._placed.values())),
            "commit_records_read": sum(part.count for part in written.values()),
        }

    def of(self, partition: PartitionName) -> Sequence[Had]:
        """Those whose records stand in a partition, in the order in which they were acknowledged."""
        placed = sorted(self._placed.get(partition, ()), key=lambda one: one[0].told_ns)
        if not placed:
            return ()
        sent, told, op = (
            np.array([commit[place] for commit, _ in placed], dtype=np.int64) for place in (1, 2, 3)
        )
        offset, epoch = np.array([row for _, row in placed], dtype=np.int64).T

        def text(number: int) -> str:
            where = placed[number][0].where
            what = f"offset {where.offset} of {where.topic}/{where.partition}"
            return f"The commit of {what} by group {where.group}, in {partition}"

        return (Had(COMMITTED_WITHOUT_MEMBER, text, "acknowledged", sent, told, offset, op, epoch),)


@once
def written_of(history: History) -> dict[int, Written]:
    """What was read of the offsets topic, by the number of its partition.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: dict[int, Written] = defaultdict(Written)
    for operation in history.observed(COMMITS):
        seen = msgspec.convert(operation.value, CommitsSeen)
        for number, epoch, first, end, before, records in seen.stretches:
            if records is not None:
                found[number].add(epoch, first, end, before, records)
    for part in found.values():
        part.merge()
    return dict(found)


def acknowledged_commits(history: History) -> Iterator[Commit]:
    """Commits outside transactions that were acknowledged, in no order.

    Args:
        history: as `checkers.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for f in ("write", "commit-offset", "commit"):
        asked: dict[int | str, Operation] = {}
        for operation in history.of(f):
            began = asked.pop(operation.process, None)
            if operation.type is INVOKE:
                asked[operation.process] = operation
            elif operation.type is OK and began is not None:
                for where in _wheres(began):
                    yield Commit(where, began.time_ns, operation.time_ns, operation.index)


def _wheres(asked: Operation) -> Iterator[Where]:
    """What an operation commits; nothing where it is a write of another register."""
    key, value = str(asked.key), asked.value
    if asked.f == "write":
        named = key.removeprefix(_REGISTER).rsplit("/", 2)
        if key.startswith(_REGISTER) and len(named) == _PARTS and named[2].isdecimal():
            yield Where(named[0], named[1], int(named[2]), value)
    elif asked.f == "commit-offset":
        one = msgspec.convert(value, _Committed)
        yield Where(key, one.topic, one.partition, one.offset)
    else:
        told = msgspec.convert(value, Committing)
        yield from (Where(key, told.topic, partition, offset) for partition, offset in told.offsets)


def _row(written: Written | None, where: Where) -> Row | None:
    """Where the first record of a commit stands; None where that is not known."""
    row = None if written is None else written.rows.get(where)
    return row if written is not None and row is not None and written.reaches(row) else None


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches in their order, those that overlap or adjoin as one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(stretches):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((first, end))
    return found


def _acknowledged_early(scene: Scene) -> bool:
    """Whether brokers were configured to acknowledge commits before they are replicated."""
    setup = scene.setup
    return any(ACKS in config for config in (setup.config, *setup.node_config.values()))
