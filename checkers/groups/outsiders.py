"""Finds committed offsets of clients that are no members, and deletions, of groups that have members.

An administrator who sets a group's offsets (KIP-396) commits without a member id and generation, which a
coordinator accepts only for an empty group.  The members' operations show whether the group was empty:

* A member whose commits were acknowledged before and afterwards, in one generation, was a member all the
  time, because ids are used only once, and a removed member is not in any later generation.
* A member whose commit was just acknowledged stays a member for half a session, unless the group was about to
  remove it.  If that member was assigned all partitions, it was the only one, and the group was not about to
  remove it.
"""

from collections.abc import Iterator

from checkers.groups.anomalies import GROUP_DELETED, OUTSIDER_COMMIT
from checkers.groups.loading import Assignment, GroupDeletion, Groups, OffsetCommit
from checkers.history.polls import Membership
from checkers.history.units import NS_PER_MS
from checkers.verdict.verdict import Anomaly


def find_outsiders(groups: Groups, group: str) -> Iterator[Anomaly]:
    """Commits of outsiders that were acknowledged while the group certainly had a member."""
    by_member: dict[Membership, list[OffsetCommit]] = {}
    for commit in groups.commits.get(group, ()):
        if commit.acknowledged and commit.membership is not None:
            by_member.setdefault(commit.membership, []).append(commit)
    for commit in groups.commits.get(group, ()):
        if commit.outsider and commit.acknowledged:
            around = next(filter(None, (_around(commit, some) for some in by_member.values())), None)
            if around is not None:
                yield _outsider(commit, *around)


def _around(commit: OffsetCommit, some: list[OffsetCommit]) -> tuple[OffsetCommit, OffsetCommit] | None:
    """A member's last commit before another commit, and its first commit after it."""
    before = [one for one in some if one.end < commit.begin]
    after = [one for one in some if one.begin > commit.end]
    return (before[-1], after[0]) if before and after else None


def _outsider(commit: OffsetCommit, before: OffsetCommit, after: OffsetCommit) -> Anomaly:
    member, generation = before.membership or ("", -1)
    offsets = ", ".join(f"{partition}@{offset}" for partition, offset in commit.offsets.items())
    return OUTSIDER_COMMIT.found(
        f"{commit.group}: a client that was no member set {commit.topic}/{offsets}, and {member} "
        "was a member",
        subject=f"{commit.group} generation {generation}",
        time_ns=after.time_ns,
        witness=(*before.positions, *commit.positions, *after.positions),
        explanation=[
            f"{member} committed in generation {generation} before: operation {before.end}.",
            (
                f"Then the commit of process {commit.process}, which was no member, was acknowledged: "
                f"{commit.end}."
            ),
            f"{member} committed in the same generation afterwards: {after.end}.",
        ],
    )


def find_deleted(groups: Groups, group: str, session_ms: int) -> Iterator[Anomaly]:
    """Deletions that were acknowledged while the group certainly had a member.

    Args:
        groups: the groups of a history.
        group: its id.
        session_ms: session timeout of members.
    """
    for deletion in groups.deletions.get(group, ()):
        last = _last_commit(groups, group, deletion)
        if last is None or deletion.time_ns - last.began_ns > session_ms * NS_PER_MS // 2:
            continue
        yield GROUP_DELETED.found(
            f"{group} was deleted while process {deletion.process} was a member",
            subject=group,
            time_ns=deletion.time_ns,
            witness=(*last.positions, deletion.begin, deletion.end),
            explanation=[
                f"Process {deletion.process}, which was assigned everything, committed: {last.end}.",
                (
                    "Less than half a session timeout later the deletion of the group was "
                    f"acknowledged: {deletion.end}."
                ),
            ],
        )


def _last_commit(groups: Groups, group: str, deletion: GroupDeletion) -> OffsetCommit | None:
    """The last commit, before a deletion, of the member that requested it, if that was the only member."""
    commits = [one for one in groups.commits.get(group, ()) if _before(one, deletion) and not one.outsider]
    assigned = [one for one in groups.assignments.get(group, ()) if _before(one, deletion)]
    if not commits or not assigned:
        return None
    last, mine = commits[-1], assigned[-1]
    partitions = {place.partition for place in groups.places(group) if place.topic == mine.topic}
    sole = mine.membership is not None and partitions == mine.starts.keys() and mine.end < last.begin
    return last if sole and last.acknowledged and last.membership == mine.membership else None


def _before(one: OffsetCommit | Assignment, deletion: GroupDeletion) -> bool:
    return one.process == deletion.process and one.begin < deletion.begin
