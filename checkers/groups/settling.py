"""Whether a group settled: its last member was assigned all partitions and read them to the end."""

from collections.abc import Iterator, Sequence

from checkers.columns.tables import GroupPartition
from checkers.groups.anomalies import REBALANCE_STUCK
from checkers.groups.delivery import Delivery
from checkers.groups.loading import Groups, PollSpan
from checkers.verdict.verdict import Anomaly

STUCK_NS = 60_000_000_000
"""After this time every session and rebalance has ended; members wait seven seconds for each other."""


def find_stuck(groups: Groups, group: str) -> Iterator[Anomaly]:
    """A group that did not assign all partitions to its last member, although the cluster had recovered."""
    polls = _final_polls(groups, group)
    left = _unassigned(groups, group)
    if not groups.recovered or not polls or not left:
        return
    tried_ns = polls[-1].ended_ns - polls[0].began_ns
    if tried_ns < STUCK_NS:
        return
    yield REBALANCE_STUCK.found(
        f"{group} assigned {', '.join(map(str, left))} to no member within {tried_ns / 1e9:.0f} s",
        subject=group,
        time_ns=polls[-1].ended_ns,
        witness=(polls[0].begin, polls[0].end, polls[-1].begin, polls[-1].end),
        explanation=[f"{len(polls)} polls of the group's last member returned without an error."],
    )


def unsettled(groups: Groups, group: str, deliveries: Sequence[Delivery]) -> str | None:
    """Why it is unknown what a group received in the end; None if it is known."""
    if not groups.polls.get(group):
        return f"no member of {group} polled"
    if not any(groups.delivered.get(place) for place in groups.places(group)):
        return f"{group} received no records"
    behind = [str(delivery.place) for delivery in deliveries if not delivery.reached]
    if behind:
        return f"no member read to the end of {', '.join(behind)}"
    return None


def _final_polls(groups: Groups, group: str) -> list[PollSpan]:
    if groups.final is None:
        return []
    return [span for span in groups.polls.get(group, ()) if span.begin > groups.final]


def _unassigned(groups: Groups, group: str) -> list[GroupPartition]:
    """Places that no member was assigned in the final phase."""
    final = groups.final or 0
    given = {
        GroupPartition(group, one.topic, partition)
        for one in groups.assignments.get(group, ())
        if one.begin > final
        for partition in one.starts
    }
    return [place for place in groups.places(group) if place not in given]
