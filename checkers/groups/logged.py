"""Groups of KIP-848's protocol, as their coordinators wrote them to the log of ``__consumer_offsets``.

A coordinator replays the log of its partition before it writes to it, and it applies each of its own records
before the next request.  So the records before a given one are what its coordinator knew when it wrote it.
By Kafka 4.0 to 4.4:

- The epoch of a group, and of its target assignment, is greater than the last one.  A member's epoch does not
  decrease, except to -2 when a static member leaves for a while.  When a group or a member is deleted, and
  when a group changes its protocol, its records are deleted first, and epochs may start again.
- A target assignment has at most the epoch of its group, and a member at most that of the target assignment.
- When a member is removed, the group's epoch is raised (`removing`).
- A member is assigned a partition only if no other member has it, or still has to revoke it.  This includes
  static members that left for a while.
- A commit is accepted only from a member, in the member's epoch.  An older epoch suffices if the partition
  was assigned to the member in it or before (KIP-1251, from 4.3 on), which the member's record states.

Reasons why a correct Kafka causes no finding:

- *Part of the log was not read*, or compaction had removed records: only gapless parts are judged, each by
  itself (`checkers.evidence.offsets_log`).  A commit is judged only if all records of its group were read,
  from offset 0 or from the deletion of the group on.
- *A deposed leader appends records* that are truncated later: its log is judged by itself, up to its end.
- *A record that could not be decoded* ends a part, and the result is unknown.
- *The same offset is committed twice*, so it is unknown which request a record belongs to: only commits with
  one request and one record outside of transactions are judged.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.columns.tables import NONE, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.evidence.offsets_log import Chain, GroupEntry, RecordPlace, Where, Written, written_of
from checkers.groups.anomalies import (
    FENCED_COMMIT,
    LOGGED_EPOCH_AHEAD,
    LOGGED_EPOCH_BACK,
    LOGGED_TWO_OWNERS,
    REMOVED_WITHOUT_EPOCH,
)
from checkers.groups.loading import Groups, OffsetCommit
from checkers.groups.removing import Removals
from checkers.history.operations import History
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_NEW, _REMOVED = 0, -1
"""Epochs of members without a record, and of removed members; no request has that of a removed member."""
_Place = tuple[str, int]
"""Topic id and partition."""


class _PlacedCommit(NamedTuple):
    """An acknowledged commit of one partition, the member and epoch of the request, and its record."""

    commit: OffsetCommit
    where: Where
    member: str
    epoch: int
    op: int
    place: RecordPlace


@dataclass(slots=True)
class _Group:
    """A group after some record of the log.

    Attributes:
        complete: whether all its records were read.
        epoch: the last record with its epoch; None if none was read.
        target: the last record with the epoch of its target assignment; None if none was read.
        members: by id, the last record of each member.
        owners: who has each partition.
    """

    complete: bool
    epoch: GroupEntry | None = None
    target: GroupEntry | None = None
    members: dict[str, GroupEntry] = field(default_factory=dict)
    owners: dict[_Place, str] = field(default_factory=dict)


class LoggedGroups:
    """The groups in the log of the offsets topic.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: the operations of its clients.

    Attributes:
        found: findings by group.
        doubt: why the groups can't be judged completely; None if they can.
    """

    def __init__(self, history: History, groups: Groups) -> None:
        self.found: dict[str, list[Anomaly]] = defaultdict(list)
        self.doubt: str | None = None
        self._records: Counter[str] = Counter()
        self._commits: Counter[str] = Counter()
        self._history = history
        self._groups = groups
        for number, part in written_of(history).items():
            if part.groups:
                self._judge(PartitionName(OFFSETS_TOPIC, number), part)

    @property
    def names(self) -> frozenset[str]:
        """Ids of the groups that the log has records of."""
        return frozenset(self._records)

    def figures(self, group: str) -> dict[str, int]:
        """Numbers of compared records and commits; empty for a group of which the log has no record."""
        if group not in self._records:
            return {}
        return {"records_in_log": self._records[group], "commits_in_log": self._commits[group]}

    def _judge(self, partition: PartitionName, part: Written) -> None:
        if any(entry.record.what == "unreadable" for entry in part.groups.values()):
            self.doubt = f"{partition} has records of groups that could not be decoded"
        commits = _placed(self._groups, part)
        places = sorted({*part.groups, *commits})
        done: set[RecordPlace] = set()
        chains: list[Chain] = []
        for tip in part.tips:
            chain = part.chain(tip)
            if chain is not None and not any(other.has(tip) for other in chains):
                chains.append(chain)
                walk = _Walk(self._history, partition, whole=chain.whole)
                for place in filter(chain.has, places):
                    self._step(walk, part.groups.get(place), commits.get(place), new=place not in done)
                    done.add(place)

    def _step(
        self, walk: "_Walk", entry: GroupEntry | None, commit: _PlacedCommit | None, *, new: bool
    ) -> None:
        """Apply one record; a record that several logs have counts once, and a classic group's does not."""
        if entry is not None and entry.record.what == "classic":
            walk.replace(entry)
            return
        if entry is not None:
            found = list(walk.apply(entry))
            counted, group = self._records, entry.record.group
        elif commit is not None and walk.knows(commit):
            found = list(walk.judge(commit))
            counted, group = self._commits, commit.where.group
        else:
            return
        if new and group:
            counted[group] += 1
            self.found[group] += found


def _placed(groups: Groups, part: Written) -> dict[RecordPlace, _PlacedCommit]:
    """Acknowledged commits of members whose only record is in a partition of the offsets topic."""
    found: dict[RecordPlace, _PlacedCommit] = {}
    for commits in groups.commits.values():
        times = Counter(where for commit in commits for where in _wheres(commit))
        for commit in commits:
            if commit.acknowledged and commit.membership is not None:
                for where in _wheres(commit):
                    places = part.places.get(where, ())
                    if times[where] == len(places) == 1:
                        (place,) = places
                        if part.entries[place].producer == NONE:
                            op = part.entries[place].op
                            found[place] = _PlacedCommit(commit, where, *commit.membership, op, place)
    return found


def _wheres(commit: OffsetCommit) -> Iterator[Where]:
    for partition, offset in commit.offsets.items():
        yield Where(commit.group, commit.topic, partition, offset)


class _Walk:
    """Follows the records of a gapless part of one log.

    Args:
        history: the history.
        partition: partition of the offsets topic.
        whole: whether the part begins at offset 0.
    """

    def __init__(self, history: History, partition: PartitionName, *, whole: bool) -> None:
        self._history = history
        self._partition = partition
        self._whole = whole
        self._states: dict[str, _Group] = {}
        self._removals = Removals()

    def apply(self, entry: GroupEntry) -> Iterator[Anomaly]:
        """Yield what is wrong with a record of a group, and apply it."""
        record = entry.record
        if record.what == "unreadable":
            self._states, self._whole, self._removals = {}, False, Removals()
            return
        group = self._states.setdefault(record.group, _Group(self._whole))
        last = group.members.get(record.member)
        known = last is not None and last.record.epoch is not None
        if (removal := self._removals.after(entry, known=known)) is not None:
            yield self._not_raised(removal, entry)
        if record.what == "group":
            yield from self._grown(entry, group.epoch)
            group.epoch = entry
            if record.epoch is None:
                self._states[record.group] = _Group(complete=True)
        elif record.what == "target":
            yield from self._grown(entry, group.target)
            yield from self._bounded(entry, group.epoch)
            group.target = entry if record.epoch is not None else None
        elif record.what == "member":
            yield from self._of_member(entry, group)

    def replace(self, entry: GroupEntry) -> None:
        """Apply a record of a classic group, which replaces a group of KIP-848's protocol on replay."""
        if entry.record.epoch is not None:
            self._states[entry.record.group] = _Group(complete=True)
            self._removals.forget(entry.record.group)

    def knows(self, commit: _PlacedCommit) -> bool:
        """Whether all records of a commit's group were read up to here, and the group exists."""
        group = self._states.get(commit.where.group)
        return group is not None and group.complete and group.epoch is not None

    def judge(self, commit: _PlacedCommit) -> Iterator[Anomaly]:
        """Yield an anomaly if the coordinator had to refuse a commit; its group must be known."""
        group = self._states[commit.where.group]
        last = group.members.get(commit.member)
        epoch = _NEW if last is None else _epoch(last)
        held = [] if last is None else last.record.held
        since = [begun for _, number, begun in held if number == commit.where.partition]
        old = any(begun is not None and begun <= commit.epoch < epoch for begun in since)
        if commit.epoch != epoch and not old:
            yield _fenced(self._history, self._partition, commit, last)

    def _grown(self, entry: GroupEntry, before: GroupEntry | None) -> Iterator[Anomaly]:
        if before is not None and entry.record.epoch is not None and _epoch(entry) <= _epoch(before):
            yield self._found(LOGGED_EPOCH_BACK, entry, before, f"and was {_epoch(before)} before")

    def _bounded(self, entry: GroupEntry, bound: GroupEntry | None) -> Iterator[Anomaly]:
        if bound is not None and entry.record.epoch is not None and _epoch(entry) > _epoch(bound):
            yield self._found(LOGGED_EPOCH_AHEAD, entry, bound, f"and {_whose(bound)} is {_epoch(bound)}")

    def _of_member(self, entry: GroupEntry, group: _Group) -> Iterator[Anomaly]:
        record = entry.record
        before = group.members.get(record.member)
        if before is not None and 0 <= _epoch(entry) < _epoch(before):
            yield self._found(LOGGED_EPOCH_BACK, entry, before, f"and was {_epoch(before)} before")
        yield from self._bounded(entry, group.epoch if group.target is None else group.target)
        for topic, number, _ in [] if before is None else before.record.held:
            if group.owners.get((topic, number)) == record.member:
                del group.owners[topic, number]
        for topic, number, _ in record.held:
            owner = group.owners.get((topic, number), record.member)
            if owner != record.member:
                text = f"and it is assigned partition {number} of topic {topic}, which {owner} has"
                yield self._found(LOGGED_TWO_OWNERS, entry, group.members[owner], text)
            group.owners[topic, number] = record.member
        group.members[record.member] = entry

    def _not_raised(self, removal: GroupEntry, following: GroupEntry) -> Anomaly:
        record = removal.record
        return REMOVED_WITHOUT_EPOCH.found(
            f"{self._partition}@{record.offset}: member {record.member} of {record.group} is removed, and "
            "the group's epoch is not raised with it.",
            subject=f"{record.group} {record.member}",
            time_ns=self._history.operations[removal.op].time_ns,
            witness=sorted({removal.op, following.op}),
            explanation=(_entry_text(removal), _entry_text(following), "All records between them were read."),
        )

    def _found(self, kind: AnomalyKind, entry: GroupEntry, other: GroupEntry, text: str) -> Anomaly:
        record = entry.record
        return kind.found(
            f"{self._partition}@{record.offset}: {_whose(entry)} is {record.epoch}, {text}.",
            subject=f"{record.group} {record.member}".rstrip(),
            time_ns=self._history.operations[entry.op].time_ns,
            witness=sorted({other.op, entry.op}),
            explanation=(_entry_text(other), _entry_text(entry), "All records between them were read."),
        )


def _fenced(
    history: History, partition: PartitionName, commit: _PlacedCommit, last: GroupEntry | None
) -> Anomaly:
    where = commit.where
    return FENCED_COMMIT.found(
        f"{partition}@{commit.place.offset}: a commit of {where.topic}/{where.partition}@{where.offset} by "
        f"member {commit.member} of {where.group} in epoch {commit.epoch} was acknowledged.",
        subject=f"{where.group} {commit.member}",
        time_ns=history.operations[commit.commit.end].time_ns,
        witness=sorted({commit.op, *commit.commit.positions, *(() if last is None else (last.op,))}),
        explanation=(
            f"The commit was appended in leader epoch {commit.place.epoch}.",
            "Before it the log has no record of that member." if last is None else _entry_text(last),
            "All records of the group up to the commit were read.",
        ),
    )


def _epoch(entry: GroupEntry) -> int:
    return _REMOVED if entry.record.epoch is None else entry.record.epoch


def _whose(entry: GroupEntry) -> str:
    record = entry.record
    if record.what == "member":
        return f"the epoch of member {record.member} of {record.group}"
    return f"the epoch of {record.group}" + ("'s target assignment" if record.what == "target" else "")


def _entry_text(entry: GroupEntry) -> str:
    record = entry.record
    if record.epoch is None:
        return f"At offset {record.offset} member {record.member} of {record.group} is removed."
    has = ", ".join(f"{topic}/{number}" for topic, number, _ in record.held) or "nothing"
    holds = f"; the member has {has}" if record.what == "member" else ""
    return f"At offset {record.offset} {_whose(entry)} is {record.epoch}{holds}."
