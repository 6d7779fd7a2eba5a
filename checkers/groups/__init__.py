"""Judges consumer groups: what their members were assigned, were given, and committed.

Operations are those of docs/histories.md: *poll* with ``group`` (and, where it begins an assignment,
``assigned`` and ``membership``) and *commit*.

1. ``undelivered``: the group went past a record that no member was given (`delivery`).
2. ``committed-offset-lost``: an assignment began elsewhere than the group had committed (`beginnings`).
3. ``zombie-commit``, ``two-owners``: generations do not fence, or are not exclusive (`fencing`).
4. ``rebalance-stuck``: a group that did not settle although the cluster had recovered (`settling`).

A record may be given to a group again and again, after every rebalance: that is a figure.  What was given and
what is there is compared by offsets; whether the records are right, and whether a member was given them in
order within its assignment, the log's checker tells (`checkers.log`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from checkers.columns import PartitionName
from checkers.groups.beginnings import beginnings, told
from checkers.groups.delivery import Delivery, delivery_of, find_undelivered
from checkers.groups.fencing import find_two_owners, find_zombies
from checkers.groups.figures import figures_of
from checkers.groups.kinds import UNDELIVERED
from checkers.groups.loading import Groups, groups_of
from checkers.groups.settling import find_stuck, unsettled
from checkers.history import History
from checkers.licences import licences_of
from checkers.licences.internal import OFFSETS_TOPIC, may_have_lost
from checkers.verdict import Anomaly, Assumption, CheckerResult, result_of

__all__ = ["check_groups"]

CHECKER = "groups"
KIND = "groups"
GENERATIONS_MIN = 3
"""A group that never rebalanced under load, and then for its last member, says little."""
COMMITS_MIN = 10


class _Expected(NamedTuple):
    """Groups that the set-up names; of any other nothing is required."""

    groups: tuple[str, ...] = ()


def check_groups(history: History) -> CheckerResult:
    """Judge the groups of a history; not exercised by one without any that means to have none.

    Args:
        history: as `checkers.reading.read_history` returns it.
    """
    groups, expected = groups_of(history), _expected(history)
    anomalies: list[Anomaly] = []
    counts: dict[str, int] = {}
    doubts = list(history.damage)
    figures: dict[str, Any] = {}
    assumptions: list[Assumption] = []
    for group in sorted({*groups.names, *expected.groups}):
        deliveries = [delivery_of(groups, place) for place in groups.places(group)]
        found = [*_events(groups, group), *_undelivered(groups, deliveries)]
        anomalies += found
        _count(counts, found, deliveries)
        figures[group] = figures_of(groups, group, deliveries)
        if group in expected.groups:
            assumptions += _assumed(group, figures[group])
            doubt = unsettled(groups, group, deliveries)
            doubts += [] if doubt is None else [doubt]
    permitted = _permitted(history, groups)
    if permitted is not None:
        doubts.append(f"what groups were given or committed may have vanished: {permitted}")
    return result_of(
        CHECKER,
        [] if permitted else anomalies,
        counts={} if permitted else counts,
        assumptions=tuple(assumptions),
        figures=figures,
        unknown_because="; ".join(doubts) or None,
        exercised=bool(figures),
    )


def _expected(history: History) -> _Expected:
    setup = next(iter(history.of("setup")), None)
    workload = {} if setup is None else setup.value.get("workload", {})
    return _Expected(tuple(workload.get("groups", ()))) if workload.get("kind") == KIND else _Expected()


def _events(groups: Groups, group: str) -> Iterable[Anomaly]:
    """Everything but undelivered records."""
    yield from (told(one, register) for one, register in beginnings(groups, group) if one.wrong)
    yield from find_zombies(groups, group)
    yield from find_two_owners(groups, group)
    yield from find_stuck(groups, group)


def _undelivered(groups: Groups, deliveries: Iterable[Delivery]) -> Iterable[Anomaly]:
    for delivery in deliveries:
        yield from find_undelivered(groups, delivery)


def _count(counts: dict[str, int], found: Iterable[Anomaly], deliveries: Iterable[Delivery]) -> None:
    """Add exact numbers: of undelivered records there are more than findings."""
    for anomaly in found:
        if anomaly.id != UNDELIVERED.id:
            counts[anomaly.id] = counts.get(anomaly.id, 0) + 1
    passed = sum(len(delivery.passed) for delivery in deliveries)
    if passed:
        counts[UNDELIVERED.id] = counts.get(UNDELIVERED.id, 0) + passed


def _assumed(group: str, figures: Mapping[str, Any]) -> Iterable[Assumption]:
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


def _permitted(history: History, groups: Groups) -> str | None:
    """An event that permits records of what is read, or of groups' offsets, to vanish."""
    setup = next(iter(history.of("setup")), None)
    if groups.names and setup is not None:
        lost = may_have_lost(history, OFFSETS_TOPIC)
        if lost is not None:
            return lost
    licences = licences_of(history)
    topics = {topic for group in groups.names for topic in groups.topics.get(group, {})}
    partitions = [PartitionName(*where) for where in groups.listed if where[0] in topics]
    return next((permit.text for where in partitions for permit in licences.of(where)), None)
