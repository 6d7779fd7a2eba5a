"""The figures of a group in the verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from checkers.columns.tables import GroupPartition
from checkers.groups.delivery import Delivery
from checkers.groups.fencing import premature
from checkers.groups.loading import Assignment, Groups
from checkers.history.operations import FAIL, INFO, OK
from checkers.history.units import NS_PER_MS


def figures_of(groups: Groups, group: str, deliveries: Sequence[Delivery]) -> dict[str, float]:
    """Members, assignments, generations, commits and deliveries of one group, over all its places."""
    assignments = groups.assignments.get(group, [])
    commits = Counter(commit.outcome for commit in groups.commits.get(group, ()))
    memberships = [one.membership for one in assignments if one.membership is not None]
    returned = sum(groups.deliveries(one.place) for one in deliveries)
    delivered = sum(one.given for one in deliveries)
    return {
        "members": len({member for member, _ in memberships}),
        "assignments": len(assignments),
        "generations": len({generation for _, generation in memberships}),
        "commits_ok": commits[OK],
        "commits_fail": commits[FAIL],
        "commits_info": commits[INFO],
        "commits_of_outsiders": sum(commit.outsider for commit in groups.commits.get(group, ())),
        "commits_premature": sum(1 for _ in premature(groups, group)),
        "delivered": delivered,
        "redelivered": returned - delivered,
        "unowned_max_ms": max((_unowned_ms(groups, one.place) for one in deliveries), default=0.0),
    }


def _unowned_ms(groups: Groups, place: GroupPartition) -> float:
    """The longest time between two assignments of a place in which no owner polled, milliseconds."""
    longest = 0
    end: int | None = None
    for began_ns, ended_ns in sorted(_owned(groups, place)):
        if end is not None:
            longest = max(longest, began_ns - end)
        end = ended_ns if end is None else max(end, ended_ns)
    return longest / NS_PER_MS


def _owned(groups: Groups, place: GroupPartition) -> Iterator[tuple[int, int]]:
    """The periods in which members that were assigned a place polled."""
    by_process: dict[int | str, list[Assignment]] = {}
    for assignment in groups.assignments.get(place.group, ()):
        by_process.setdefault(assignment.process, []).append(assignment)
    last = _last_polls(groups, place.group, by_process)
    for assignments in by_process.values():
        for assignment in assignments:
            if assignment.topic == place.topic and place.partition in assignment.starts:
                yield assignment.time_ns, last[assignment.end]


def _last_polls(groups: Groups, group: str, by_process: dict[int | str, list[Assignment]]) -> dict[int, int]:
    """When the last poll of each assignment ended; assignments are identified by completion position."""
    current: dict[int | str, int] = {}
    begins: set[int] = {one.end for one in _all(by_process.values())}
    last: dict[int, int] = {}
    for span in groups.polls.get(group, ()):
        if span.end in begins:
            current[span.process] = span.end
        if span.process in current:
            last[current[span.process]] = span.ended_ns
    return last


def _all(lists: Iterable[list[Assignment]]) -> Iterator[Assignment]:
    for one in lists:
        yield from one
