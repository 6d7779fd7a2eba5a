"""Generations: which commits a coordinator may accept, and which assignments it may make.

A generation is appended to the coordinator's log before its members receive their assignments.  So once a
member reports it, every coordinator knows it, and numbers only increase.  A group's number starts again only
after the group was deleted.  A deletion on request does not happen before the last assignment of a run, and a
deletion by Kafka takes at least ten minutes (``offsets.retention.check.interval.ms``).

In a group of KIP-848's protocol every member has its own epoch, and learns late of other members' epochs.  So
a commit is compared with the member's epoch, not with other members' epochs.  But a partition is assigned to
another member only after its former owner has released it, which raises that member's epoch in the same
write, or has been fenced.  So once a member reports that it was assigned a partition, no member may commit
that partition's offset in an earlier epoch.  The members' reports do not show whether two of them have a
partition in one epoch: a library reads its epoch when it reports an assignment, which may be later than the
assignment.

A member commits with the id and generation that it received.  If no member knew a commit's generation by
then, that generation can't have been the coordinator's current one.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from checkers.columns.tables import NONE, GroupPartition
from checkers.groups.anomalies import PREMATURE_COMMIT, TWO_OWNERS, ZOMBIE_COMMIT
from checkers.groups.loading import Assignment, Groups, OffsetCommit
from checkers.history.polls import Membership
from checkers.verdict.verdict import Anomaly

_EVERYTHING = -1
"""The key for all partitions, if generations belong to the whole group."""


def find_zombies(groups: Groups, group: str) -> Iterator[Anomaly]:
    """Commits that were acknowledged although a member of a later generation already had its assignment.

    In a classic group the partitions need not be the same, because a coordinator fences by generation.  In a
    group of KIP-848's protocol the partition must be the same, and the later assignment must belong to
    another member.  A group with members of both protocols may begin again with small numbers once the load
    has ended and its last member has left, so later commits are not compared.
    """
    modern = group in groups.modern
    end = groups.final if group in groups.mixed else None
    assignments = [one for one in groups.assignments.get(group, ()) if one.membership is not None]
    newest: dict[int, Assignment] = {}
    place = 0
    for commit in groups.commits.get(group, ()):
        if end is not None and commit.begin > end:
            return
        while place < len(assignments) and assignments[place].end < commit.begin:
            for key in assignments[place].starts if modern else (_EVERYTHING,):
                newest[key] = _later(newest.get(key), assignments[place])
            place += 1
        if commit.acknowledged and commit.membership is not None:
            keys = commit.offsets if modern else (_EVERYTHING,)
            others = (newest[key] for key in keys if key in newest)
            later = next((one for one in others if _fences(one, commit.membership, modern=modern)), None)
            if later is not None:
                yield _zombie(commit, commit.membership.generation, later)


def _fences(one: Assignment, membership: Membership, *, modern: bool) -> bool:
    """Whether an assignment is of a later generation and, in a modern group, of another member."""
    mine = one.membership is not None and one.membership.member == membership.member
    return _generation(one) > membership.generation and not (modern and mine)


def _zombie(commit: OffsetCommit, mine: int, newest: Assignment) -> Anomaly:
    current = _generation(newest)
    return ZOMBIE_COMMIT.found(
        f"{_commit_text(commit)} in generation {mine} after process {newest.process} had joined generation "
        f"{current}",
        subject=f"{commit.group} generation {mine}",
        time_ns=commit.time_ns,
        witness=(newest.begin, newest.end, *commit.positions),
        explanation=[
            f"Process {newest.process} was assigned partitions in generation {current}: {newest.end}.",
            f"After that process {commit.process} committed in generation {mine}: {commit.begin}.",
            f"The commit was acknowledged: {commit.end}.",
        ],
    )


def find_premature(groups: Groups, group: str) -> Iterator[Anomaly]:
    """Commits that were acknowledged in a generation that no member had received by then."""
    for early in premature(groups, group):
        if early.commit.acknowledged:
            yield _premature(early)


class PrematureCommit(NamedTuple):
    """A commit, the generation that it names, and the newest assignment that was known."""

    commit: OffsetCommit
    generation: int
    known: Assignment | None


def premature(groups: Groups, group: str) -> Iterator[PrematureCommit]:
    """Commits, with any outcome, in a generation that no poll that had begun by then reported.

    If an assignment of the group was reported without a generation, members may have known any generation.
    """
    assigned, moved = groups.assignments.get(group, ()), groups.moved.get(group, ())
    reported = sorted((*assigned, *moved), key=attrgetter("begin"))
    if not reported or any(one.membership is None for one in reported):
        return
    begun, newest = [one.begin for one in reported], list(accumulate(reported, _later))
    for commit in groups.commits.get(group, ()):
        if commit.end == NONE or commit.membership is None:
            continue
        place = bisect_left(begun, commit.end)
        known, mine = newest[place - 1] if place else None, commit.membership.generation
        if known is None or mine > _generation(known):
            yield PrematureCommit(commit, mine, known)


def _premature(early: PrematureCommit) -> Anomaly:
    commit, generation, known = early
    had = "no member was in one" if known is None else f"the newest was {_generation(known)}"
    assigned = () if known is None else (known.begin, known.end)
    return PREMATURE_COMMIT.found(
        f"{_commit_text(commit)} in generation {generation}, and {had}",
        subject=f"{commit.group} generation {generation}",
        time_ns=commit.time_ns,
        witness=(*assigned, *commit.positions),
        explanation=[
            f"Process {commit.process} committed in generation {generation}: {commit.begin}.",
            f"The commit was acknowledged: {commit.end}.",
            f"Of the generations in which members of {commit.group} had been assigned partitions, {had}.",
        ],
    )


def find_two_owners(groups: Groups, group: str) -> Iterator[Anomaly]:
    """Partitions that were assigned to two members in one generation.

    One finding for each partition and generation.

    There are none in a group of KIP-848's protocol.
    """
    if group in groups.modern:
        return
    owners: dict[tuple[GroupPartition, int], Assignment] = {}
    reported: set[tuple[GroupPartition, int]] = set()
    for assignment in groups.assignments.get(group, ()):
        if assignment.membership is None:
            continue
        member, generation = assignment.membership
        for partition in assignment.starts:
            key = (GroupPartition(group, assignment.topic, partition), generation)
            first = owners.setdefault(key, assignment)
            if first.membership == assignment.membership or key in reported:
                continue
            reported.add(key)
            yield TWO_OWNERS.found(
                f"{key[0]} was assigned to processes {first.process} and {assignment.process} "
                f"in generation {generation}",
                subject=f"{key[0]} generation {generation}",
                time_ns=assignment.time_ns,
                witness=(first.begin, first.end, assignment.begin, assignment.end),
                explanation=[f"The second of them is the member {member}."],
            )


def _commit_text(commit: OffsetCommit) -> str:
    offsets = ", ".join(f"{partition}@{offset}" for partition, offset in commit.offsets.items())
    return f"{commit.group}: a commit of {commit.topic}/{offsets} was acknowledged"


def _generation(assignment: Assignment) -> int:
    return -1 if assignment.membership is None else assignment.membership.generation


def _later(known: Assignment | None, other: Assignment) -> Assignment:
    return other if known is None or _generation(other) > _generation(known) else known
