"""Judges consumer groups: the assignments, received records and commits of their members.

The operations are *poll* with ``group`` (and, if it begins an assignment, ``assigned`` and ``membership``)
and *commit* of docs/histories.md.

1. ``undelivered``: the group went past a record that no member received (`delivery`).
2. ``committed-offset-lost``: an assignment did not begin at the offset that the group had committed
   (`beginnings`).
3. ``zombie-commit``, ``premature-commit``, ``two-owners``: generations do not fence members, or are not
   exclusive (`fencing`).
4. ``rebalance-stuck``: a group that did not settle although the cluster had recovered (`settling`).
5. ``outsider-commit``, ``group-deleted-with-members``: a client that is not a member set the offsets of a
   group with members, or deleted it (`outsiders`).
6. ``static-member-refused``: a group had no room for one of its own members (`refusing`), or took an instance
   id that nobody else used for one that is in use (`releasing`, `known_leaves`).
7. ``group-epoch-back``, ``group-epoch-ahead``, ``assigned-before-released``, ``fenced-commit``: what the
   coordinators of groups of KIP-848's protocol wrote to the log of the offsets topic (`logged`).

In a group with members of both protocols, rules that compare generations by their numbers are applied only as
far as the numbers did not begin again (`restarts`).

A group may receive a record repeatedly, after every rebalance; this is a figure.  Received records and
existing records are compared by offset.  The log checker (`checkers.logs.log`) judges whether the records are
correct, and whether a member received them in order within its assignment.  An event that permits the loss of
records excuses findings only in the partitions that it may have hit (`excuses`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from checkers.groups.anomalies import ANOMALIES, NEEDS, UNDELIVERED
from checkers.groups.beginnings import Order, beginnings, wrong_beginning
from checkers.groups.delivery import Delivery, delivery_of, find_undelivered
from checkers.groups.excuses import Excuses, GroupFinding
from checkers.groups.fencing import find_premature, find_two_owners, find_zombies
from checkers.groups.figures import figures_of
from checkers.groups.known_leaves import find_known_leaves, unread_refusals
from checkers.groups.loading import Groups, groups_of
from checkers.groups.logged import LoggedGroups
from checkers.groups.outsiders import find_deleted, find_outsiders
from checkers.groups.refusing import find_refused
from checkers.groups.releasing import find_unreleased
from checkers.groups.restarts import conversions, may_have_restarted
from checkers.groups.settling import find_stuck, unsettled
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.sources import unassigned_damage
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, OpenAnomaly, result_of

__all__ = ["ENTRY", "check_groups"]

CHECKER = "groups"
KIND = "groups"
GENERATIONS_MIN = 3
"""The least number of generations; fewer mean that the group rebalanced only for its last member."""
COMMITS_MIN = 10


class _Expected(NamedTuple):
    """The groups in the set-up, and their session timeout.

    Nothing is required of other groups.
    """

    groups: tuple[str, ...] = ()
    session_ms: int = 0


def check_groups(history: History) -> CheckerResult:
    """Judge the groups of a history.

    The result is not exercised if the history has no groups and was not meant to have any.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    groups, expected = groups_of(history), _expected(history)
    anomalies: list[Anomaly] = []
    counts: dict[str, int] = {}
    doubts = list(unassigned_damage(history))
    figures: dict[str, dict[str, float]] = {}
    assumptions: list[Assumption] = []
    logged = LoggedGroups(history, groups)
    for group in sorted({*groups.names, *expected.groups, *logged.names}):
        deliveries = [delivery_of(groups, place) for place in groups.places(group)]
        mixed = group in groups.mixed
        ordered = not mixed or not may_have_restarted(history, groups, group)
        found = [*_events(groups, group, ordered=ordered), *_undelivered(groups, deliveries)]
        found += map(GroupFinding, find_deleted(groups, group, expected.session_ms))
        found += map(GroupFinding, [*find_refused(history, group), *logged.found[group]])
        found += _refusals_of_known(history, group, mixed=mixed)
        judged = list(Excuses(history, group).judged(found))
        anomalies += judged
        _count(counts, judged, deliveries)
        figures[group] = figures_of(groups, group, deliveries) | logged.figures(group)
        if mixed:
            figures[group] |= {"conversions": conversions(history, group), "ordered": float(ordered)}
        if group in expected.groups:
            assumptions += _assumed(group, figures[group])
            doubts += filter(None, [unsettled(groups, group, deliveries)])
        doubts += filter(None, [unread_refusals(history, group)])
    doubts += [] if logged.doubt is None else [logged.doubt]
    return result_of(
        CHECKER,
        anomalies,
        counts=counts,
        assumptions=tuple(assumptions),
        figures=figures,
        unknown_because="; ".join(doubts) or None,
        open_anomalies=_open(anomalies),
        exercised=bool(figures),
    )


def _open(anomalies: Sequence[Anomaly]) -> list[OpenAnomaly]:
    """The anomalies that an event may explain; all that the same event may explain have the same reason."""
    excused = [(one, one.licence) for one in anomalies if one.licence is not None]
    reasons = {text: f"{one.id} of {one.subject} may follow from {text}" for one, text in reversed(excused)}
    return [OpenAnomaly(one.id, reasons[text]) for one, text in excused]


def _refusals_of_known(history: History, group: str, *, mixed: bool) -> list[GroupFinding]:
    """Refusals because of an owner that had left, each owner once.

    Those that a coordinator's own log proves come first: no lost record explains them.
    """
    logged = [] if mixed else [*find_known_leaves(history, group)]
    proven = {anomaly.subject for anomaly in logged}
    reported = [
        one for one in find_unreleased(history, group) if not (one.by_log and one.anomaly.subject in proven)
    ]
    return [*map(GroupFinding, logged), *reported]


def _expected(history: History) -> _Expected:
    workload = recorded_setup(history).workload
    if workload.kind != KIND or isinstance(workload.groups, int):
        return _Expected()
    return _Expected(workload.groups, workload.session_ms)


def _events(groups: Groups, group: str, *, ordered: bool) -> Iterator[GroupFinding]:
    """All findings except undelivered records; `ordered`: the numbers of generations order them."""
    order = Order(ordered, groups.final if group in groups.mixed else None, groups.recovered)
    for one, register in beginnings(groups, group, order):
        if one.wrong:
            lost = one.overwriting or register.newest(one.assignment)
            offsets = () if lost is None else register.in_force(lost, one.assignment)
            since_ns = 0 if lost is None else lost.began_ns
            yield GroupFinding(wrong_beginning(one, lost), one.place, offsets, since_ns)
    by_number = (find_zombies, find_two_owners, find_outsiders) if ordered else ()
    for find in (*by_number, find_premature, find_stuck):
        yield from map(GroupFinding, find(groups, group))


def _undelivered(groups: Groups, deliveries: Iterable[Delivery]) -> Iterator[GroupFinding]:
    for delivery in deliveries:
        found = zip(find_undelivered(groups, delivery), delivery.passed.tolist(), strict=False)
        yield from (GroupFinding(anomaly, delivery.place, (offset,)) for anomaly, offset in found)


def _count(counts: dict[str, int], found: Iterable[Anomaly], deliveries: Iterable[Delivery]) -> None:
    """Add exact numbers, because there are more undelivered records than findings."""
    for anomaly in found:
        if anomaly.id != UNDELIVERED.id:
            counts[anomaly.id] = counts.get(anomaly.id, 0) + 1
    passed = sum(len(delivery.passed) for delivery in deliveries)
    if passed:
        counts[UNDELIVERED.id] = counts.get(UNDELIVERED.id, 0) + passed


def _assumed(group: str, figures: Mapping[str, float]) -> Iterable[Assumption]:
    generations, commits = figures["generations"], figures["commits_ok"]
    yield Assumption(
        f"rebalanced {group}",
        generations >= GENERATIONS_MIN,
        f"at least {GENERATIONS_MIN} generations",
        str(generations),
    )
    yield Assumption(
        f"committed {group}",
        commits >= COMMITS_MIN,
        f"at least {COMMITS_MIN} acknowledged commits",
        str(commits),
    )


ENTRY = Entry(CHECKER, check_groups, ANOMALIES, NEEDS)
