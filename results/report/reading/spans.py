"""Turns observations, which are moments, into spans of time during which the same was true."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from results.run.observation import Claim, PartitionName, PartitionView

SILENCE_NS = 3_000_000_000
"""Longest time between two answers that is taken for one span."""


class StateSpan(NamedTuple):
    """A time with what was true during it."""

    begin_ns: int
    end_ns: int
    state: Any


class Reign(NamedTuple):
    """A time during which a node kept answering that it leads an epoch."""

    node: str
    begin_ns: int
    end_ns: int
    epoch: int
    superseded_ns: int | None
    """When another node was first seen to lead a later epoch, if that was before the end."""


Time = TypeVar("Time", StateSpan, Reign)


class PartitionLeadership(NamedTuple):
    """How a partition stood: its leader (-1 for none), how many were in sync, the leader's epoch."""

    leader: int
    isr: int
    epoch: int


def reigns(claims: Mapping[str, Sequence[Claim]]) -> list[Reign]:
    """Who led which epoch from when until when, by its own answers; begun again after a silence."""
    found = [Reign(node, *span, None) for node, answers in claims.items() for span in _leading(answers)]
    began: dict[int, tuple[int, str]] = {}
    for reign in sorted(found, key=lambda reign: reign.begin_ns):
        began.setdefault(reign.epoch, (reign.begin_ns, reign.node))
    return [reign._replace(superseded_ns=_superseded(reign, began)) for reign in found]


def changes(moments: Iterable[tuple[int, Any]], end_ns: int) -> list[StateSpan]:
    """States in the order of time as spans until the next change."""
    spans: list[StateSpan] = []
    for time_ns, state in moments:
        if spans and spans[-1].state == state:
            continue
        if spans:
            spans[-1] = spans[-1]._replace(end_ns=time_ns)
        spans.append(StateSpan(time_ns, end_ns, state))
    return spans


def longest(times: Sequence[Time], limit: int) -> tuple[list[Time], int]:
    """The longest of some times, in their order, and the number of shorter ones that are left out.

    Args:
        times: spans or reigns.
        limit: number of times that are kept.
    """
    places = sorted(range(len(times)), key=lambda at: times[at].begin_ns - times[at].end_ns)[:limit]
    return [times[at] for at in sorted(places)], len(times) - len(places)


def left_out_text(count: int, which: str, lack: str) -> str:
    """How many are left out, in words: ``the shortest is not drawn``, ``the 7 shortest are not drawn``.

    Args:
        count: at least 1.
        which: of them, such as ``shortest``.
        lack: what was not done, such as ``drawn``.
    """
    return f"the {which} is not {lack}" if count == 1 else f"the {count:,} {which} are not {lack}"


def settled(views: Iterable[PartitionView]) -> dict[PartitionName, list[tuple[int, PartitionLeadership]]]:
    """Per partition, when its leader, the leader's epoch or the size of its ISR changed, and to what.

    Several brokers report the same partition, and one that is cut off continues to report an old state.  So a
    broker's repeated report is no change, and a change in an earlier leader epoch is stale.
    """
    told: dict[tuple[str, PartitionName], tuple[int, int, int]] = {}
    newest: dict[PartitionName, int] = {}
    states: dict[PartitionName, list[tuple[int, PartitionLeadership]]] = {}
    for view in views:
        fact = (view.leader, view.epoch, view.isr)
        if told.get((view.node, view.partition)) == fact:
            continue
        told[view.node, view.partition] = fact
        if view.epoch >= newest.get(view.partition, view.epoch):
            newest[view.partition] = view.epoch
            states.setdefault(view.partition, []).append(
                (view.time_ns, PartitionLeadership(view.leader, view.isr, view.epoch))
            )
    return states


def _leading(answers: Sequence[Claim]) -> list[tuple[int, int, int]]:
    spans: list[tuple[int, int, int]] = []
    going_on = False
    for time_ns, epoch in answers:
        if epoch is None:
            going_on = False
        elif going_on and spans[-1][2] == epoch and time_ns - spans[-1][1] <= SILENCE_NS:
            spans[-1] = (spans[-1][0], time_ns, epoch)
        else:
            spans.append((time_ns, time_ns, epoch))
            going_on = True
    return spans


def _superseded(reign: Reign, began: Mapping[int, tuple[int, str]]) -> int | None:
    later = [
        time_ns
        for epoch, (time_ns, node) in began.items()
        if epoch > reign.epoch and node != reign.node and time_ns < reign.end_ns
    ]
    return max(min(later), reign.begin_ns) if later else None
