"""Groups with members of both protocols: whether the numbers of their generations began again.

A group that has members keeps its number when it changes its protocol (``convertToConsumerGroup``,
``convertToClassicGroup``): the generation of a classic group and the epoch of a group of KIP-848's protocol
are one sequence.  A group that is empty is deleted instead, and another one begins with small numbers
(``maybeDeleteEmptyConsumerGroup``, ``maybeDeleteEmptyClassicGroup``).  Then a smaller number does not mean
an earlier generation, and rules that compare the numbers that members reported are not applied.  The rules
for the log of the offsets topic are applied: they see the deletion.

The group's records in that log show whether this happened before the load ended.  If not all of them were
read, it may have happened.  What happens after the load, when all members have left, concerns only the last
member.  Records are read some time after they were written, and an observation may lack some partitions.
What was read by the end of the first observation that began after the load counts as written under load.
What was read later may have been written under load, too: it was if a member reported it there.  Then the
first number of that member is smaller than one that another member had reported before.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from checkers.columns.tables import NONE
from checkers.evidence.offsets_log import Chain, GroupEntry, Written, written_of
from checkers.groups.loading import Groups
from checkers.history.observed import COMMITS, began_ns
from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.history.polls import Membership

_NUMBERED = frozenset({"classic", "group"})


def may_have_restarted(history: History, groups: Groups, group: str) -> bool:
    """Whether the numbers of a group's generations began again under load, or may have.

    Args:
        history: the history.
        groups: what the members reported.
        group: id of a group with members of both protocols.
    """
    found = [entries for part in written_of(history).values() for entries in _logs(part, group)]
    last, reported = _last_of_load(history), _falls_reported(groups, group)
    return not found or any(entries is None or _falls(entries, last, reported) for entries in found)


def conversions(history: History, group: str) -> int:
    """How often a group with records in the log changed its protocol, whether it had members or not."""
    logs = (entries for part in written_of(history).values() for entries in _logs(part, group))
    return max((_changes(entries) for entries in logs if entries is not None), default=0)


def _logs(part: Written, group: str) -> Iterator[list[GroupEntry] | None]:
    """A group's records in each log that was read as a whole; None if some are in no such log."""
    places = [place for place, entry in sorted(part.groups.items()) if _numbers(entry, group)]
    chains: list[Chain] = []
    for tip in part.tips if places else ():
        chain = part.chain(tip)
        if chain is not None and chain.whole and not any(other.has(tip) for other in chains):
            chains.append(chain)
            yield [part.groups[place] for place in places if chain.has(place)]
    if any(not any(chain.has(place) for chain in chains) for place in places):
        yield None


def _numbers(entry: GroupEntry, group: str) -> bool:
    record = entry.record
    return record.group == group and record.what in _NUMBERED and record.epoch is not None


def _last_of_load(history: History) -> int | None:
    """The last observation that may have read what was written under load; None if each may have."""
    ended_ns = phase_began_ns(history, Phase.FINAL_READ)
    if ended_ns is None:
        return None
    return next((each.index for each in history.observed(COMMITS) if began_ns(each) >= ended_ns), None)


def _falls(entries: list[GroupEntry], last: int | None, reported: int | None) -> bool:
    """Whether the numbers fall under load; `reported`: the smallest that was reported after larger ones."""
    largest, later = NONE, NONE
    for entry in entries:
        number = entry.record.epoch or 0
        if number < largest and (last is None or entry.op <= last):
            return True
        if number < largest or later != NONE:
            later = max(later, number)
        largest = max(largest, number)
    return reported is not None and reported <= later


def _falls_reported(groups: Groups, group: str) -> int | None:
    """The smallest first number of a member under load below one that another had reported by then."""
    reports = sorted(_reports(groups, group))
    ended = sorted((report.end, report.membership.generation) for report in reports)
    largest = list(accumulate((number for _, number in ended), max))
    members: set[str] = set()
    smaller: list[int] = []
    for begin, _, (member, number) in reports:
        before = bisect_left(ended, (begin, NONE))
        if member not in members and before and number < largest[before - 1]:
            smaller.append(number)
        members.add(member)
    return min(smaller, default=None)


class _Report(NamedTuple):
    """A membership, and the positions in the history where the operation that reported it began and ended."""

    begin: int
    end: int
    membership: Membership


def _reports(groups: Groups, group: str) -> Iterator[_Report]:
    """The memberships that operations under load reported."""
    polls = (*groups.assignments.get(group, ()), *groups.moved.get(group, ()))
    spans = [(one.begin, one.end, one.membership) for one in polls]
    spans += [(one.begin, one.begin, one.membership) for one in groups.commits.get(group, ())]
    for begin, end, membership in spans:
        if membership is not None and (groups.final is None or begin < groups.final):
            yield _Report(begin, end, membership)


def _changes(entries: list[GroupEntry]) -> int:
    return sum(one.record.what != two.record.what for one, two in pairwise(entries))
