"""The assignments, received records and commits of consumer groups' members, loaded from a history.

A *place* is a partition that a group reads: group, topic, partition.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers
from checkers.evidence.late_requests import executed_ns
from checkers.history.commits import Committing
from checkers.history.operations import INFO, INVOKE, OK, History, Operation, OperationType
from checkers.history.phases import PHASE, Phase
from checkers.history.polls import FinalRead, GroupPollRequested, Isolation, Membership, Polled, PollRequested
from checkers.history.setup import Setup


@dataclass(frozen=True, slots=True)
class Assignment:
    """A poll in which a member was assigned partitions.

    Attributes:
        group: the group's id.
        topic: the topic that it reads.
        process: the process that polled.
        begin: position of the poll's invocation in the history.
        end: position of its completion.
        time_ns: time of the completion.
        membership: id and generation of the member; None if not reported.
        starts: partition to the offset at which reading begins.
    """

    group: str
    topic: str
    process: int | str
    begin: int
    end: int
    time_ns: int
    membership: Membership | None
    starts: dict[int, int]


@dataclass(slots=True)
class OffsetCommit:
    """A commit of a group's offsets.

    Attributes:
        group: the group's id.
        topic: the topic of the offsets.
        process: the process that committed.
        begin: position of the invocation in the history.
        membership: member and generation of the commit; None if not reported.
        offsets: partition to offset.
        outsider: whether the committer was not a member.
        began_ns: time of the invocation.
        end: position of the completion, `NONE` if there is none.
        outcome: type of the completion; info if there is none.
        executed_ns: time by which it was executed for the last time, if it is acknowledged.
        time_ns: time of the completion, or of the invocation if there is none.
    """

    group: str
    topic: str
    process: int | str
    begin: int
    membership: Membership | None
    offsets: dict[int, int]
    outsider: bool
    began_ns: int
    time_ns: int
    end: int = NONE
    outcome: OperationType = INFO
    executed_ns: int = NONE

    @property
    def acknowledged(self) -> bool:
        """Whether it certainly happened."""
        return self.outcome is OK

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of its invocation, and of its completion if there is one."""
        return (self.begin,) if self.end == NONE else (self.begin, self.end)


class GroupDeletion(NamedTuple):
    """An acknowledged deletion of a group: its process, its indices in the history, and its times."""

    process: int | str
    begin: int
    end: int
    time_ns: int


class PollSpan(NamedTuple):
    """One poll of a member that returned: the member's process, and when the poll began and ended."""

    process: int | str
    began_ns: int
    ended_ns: int
    begin: int
    end: int


@dataclass(slots=True)
class FinalReadOffsets:
    """The result of the final reads of a partition: end of the log, and the offsets in chunks."""

    start: int
    end: int
    chunks: list[list[int]] = field(default_factory=list)

    @property
    def offsets(self) -> Integers:
        """Offset of every record, ascending."""
        return _unique(self.chunks)


@dataclass(slots=True)
class Groups:
    """All data about groups in a history.

    Attributes:
        modern: groups with members of KIP-848's protocol, in which an epoch is a member's own.
        mixed: those of them that also have classic members.
        assignments: of each group, in the order of their completion.
        moved: polls of each group in which a member learned only of a new epoch: assignments without
            partitions.
        commits: of each group, in the order of their invocation.
        deletions: acknowledged deletions of each group, in the order of their completion.
        polls: polls of each group that returned, in the order of their completion.
        delivered: offsets returned at each place, chunk by chunk.
        last: largest offset returned at each place in the final phase.
        listed: topic and partition to the result of complete read_uncommitted final reads.
        topics: topics that each group reads, in the order of their appearance.
        final: position at which the phase final-read began; None if it did not begin.
        recovered: whether the cluster recovered within its bound.
    """

    modern: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()
    assignments: dict[str, list[Assignment]] = field(default_factory=dict)
    moved: dict[str, list[Assignment]] = field(default_factory=dict)
    commits: dict[str, list[OffsetCommit]] = field(default_factory=dict)
    deletions: dict[str, list[GroupDeletion]] = field(default_factory=dict)
    polls: dict[str, list[PollSpan]] = field(default_factory=dict)
    delivered: dict[GroupPartition, list[list[int]]] = field(default_factory=dict)
    last: dict[GroupPartition, int] = field(default_factory=dict)
    listed: dict[tuple[str, int], FinalReadOffsets] = field(default_factory=dict)
    topics: dict[str, dict[str, None]] = field(default_factory=dict)
    final: int | None = None
    recovered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of all groups with any reported operation, in alphabetical order."""
        return tuple(sorted({*self.assignments, *self.commits, *self.polls}))

    def places(self, group: str) -> list[GroupPartition]:
        """The places of a group: all partitions that final reads found in its topics, or that it received."""
        topics = self.topics.get(group, {})
        found = [
            GroupPartition(group, topic, partition) for topic, partition in self.listed if topic in topics
        ]
        given = [place for place in self.delivered if place.group == group]
        return sorted({*found, *given})

    def offsets(self, place: GroupPartition) -> Integers:
        """Offset of every record that a group received at a place, ascending, each once."""
        return _unique(self.delivered.get(place, []))

    def deliveries(self, place: GroupPartition) -> int:
        """Number of records that a group received at a place; repeated deliveries count each time."""
        return sum(map(len, self.delivered.get(place, [])))


def groups_of(history: History) -> Groups:
    """Load a history.

    Args:
        history: as `checkers.history.reading.read_history` returns it: its shapes are not checked again here.
    """
    loader = _Loader(history)
    takers = {
        "setup": loader.setup,
        "poll": loader.poll,
        "commit": loader.commit,
        "delete-group": loader.delete_group,
        "final-read": loader.final_read,
        PHASE: loader.phase,
        "recover": loader.recover,
    }
    for operation in history.operations:
        take = takers.get(operation.f)
        if take is not None:
            take(operation)
    return loader.groups


class _Loader:
    """Collects the operations of a history in their order."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.groups = Groups()
        self._polling: dict[int | str, Operation] = {}
        self._committing: dict[int | str, OffsetCommit] = {}
        self._deleting: dict[int | str, int] = {}

    def setup(self, operation: Operation) -> None:
        """Store which groups use KIP-848's protocol, and which use both."""
        workload = msgspec.convert(operation.value, Setup).workload
        self.groups.mixed = frozenset(workload.mixed)
        self.groups.modern = self.groups.mixed.union(workload.modern)

    def poll(self, operation: Operation) -> None:
        """Add a poll.

        A poll without a group belongs to another reader, and is ignored.
        """
        if operation.type is INVOKE:
            self._polling[operation.process] = operation
            return
        asked = self._polling.pop(operation.process)
        group = _group(operation)
        if group is None:
            return
        groups, polled = self.groups, msgspec.convert(operation.value, Polled)
        groups.topics.setdefault(group, {})[operation.key] = None
        span = PollSpan(operation.process, asked.time_ns, operation.time_ns, asked.index, operation.index)
        groups.polls.setdefault(group, []).append(span)
        assignment = Assignment(
            group=group,
            topic=operation.key,
            process=operation.process,
            begin=asked.index,
            end=operation.index,
            time_ns=operation.time_ns,
            membership=polled.membership or None,
            starts=dict(polled.assigned or ()),
        )
        if polled.assigned is not None:
            groups.assignments.setdefault(group, []).append(assignment)
        elif polled.membership:
            groups.moved.setdefault(group, []).append(assignment)
        for partition, offsets, _ in polled.records:
            place = GroupPartition(group, operation.key, partition)
            groups.delivered.setdefault(place, []).append(offsets)
            if groups.final is not None:
                groups.last[place] = max(offsets, default=NONE)

    def commit(self, operation: Operation) -> None:
        """Add a commit's invocation or completion."""
        if operation.type is INVOKE:
            begun = self._committing[operation.process] = _commit(operation)
            self.groups.commits.setdefault(begun.group, []).append(begun)
            return
        ended = self._committing.pop(operation.process)
        ended.end, ended.outcome, ended.time_ns = operation.index, operation.type, operation.time_ns
        ended.executed_ns = executed_ns(self._history, ended.began_ns, ended.time_ns)

    def delete_group(self, operation: Operation) -> None:
        """Add the deletion of a group."""
        if operation.type is INVOKE:
            self._deleting[operation.process] = operation.index
            return
        begin = self._deleting.pop(operation.process)
        if operation.type is OK:
            deletion = GroupDeletion(operation.process, begin, operation.index, operation.time_ns)
            self.groups.deletions.setdefault(str(operation.key), []).append(deletion)

    def final_read(self, operation: Operation) -> None:
        """Add a final read that reached the end of its partition."""
        if operation.type is not OK or _isolation(operation) is not Isolation.READ_UNCOMMITTED:
            return
        read = msgspec.convert(operation.value, FinalRead)
        where = (operation.key, read.partition)
        listed = self.groups.listed.setdefault(where, FinalReadOffsets(read.start, read.end))
        listed.start, listed.end = min(listed.start, read.start), max(listed.end, read.end)
        listed.chunks.extend(offsets for _, offsets, _ in read.records)

    def phase(self, operation: Operation) -> None:
        """Store where the final phase begins."""
        if operation.key == Phase.FINAL_READ:
            self.groups.final = operation.index

    def recover(self, operation: Operation) -> None:
        """Store whether the cluster recovered."""
        self.groups.recovered |= operation.type is OK


def _group(polled: Operation) -> str | None:
    """Id of the group of a poll; does not decode the records."""
    return msgspec.convert(polled.value, GroupPollRequested).group if polled.type is OK else None


def _isolation(read: Operation) -> Isolation:
    """Isolation level of a read; does not decode the records."""
    return msgspec.convert(read.value, PollRequested).isolation


def _commit(operation: Operation) -> OffsetCommit:
    asked = msgspec.convert(operation.value, Committing)
    return OffsetCommit(
        group=operation.key,
        topic=asked.topic,
        process=operation.process,
        begin=operation.index,
        membership=asked.membership,
        offsets=dict(asked.offsets),
        outsider=asked.outsider is True,
        began_ns=operation.time_ns,
        time_ns=operation.time_ns,
    )


def _unique(chunks: Iterable[list[int]]) -> Integers:
    offsets = np.sort(np.fromiter(chain.from_iterable(chunks), np.int64))
    # NumPy's own unique hashes the values, which takes ten times as long.
    distinct: Integers = offsets[np.diff(offsets, prepend=NONE) != 0]
    return distinct
