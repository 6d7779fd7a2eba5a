"""Converts observations at points in time to time spans with the same state."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from results.run.observation import Claim, PartitionName, PartitionView

SILENCE_NS = 3_000_000_000
"""Maximum time between two answers of the same span."""


State = TypeVar("State")


class StateSpan(NamedTuple, Generic[State]):
    """A time span and the state during it."""

    begin_ns: int
    end_ns: int
    state: State


class LeaderSpan(NamedTuple):
    """A time span during which a node answered that it leads an epoch."""

    node: str
    begin_ns: int
    end_ns: int
    epoch: int
    superseded_ns: int | None
    """When another node was first seen as leader of a later epoch, if before the end."""


class TimeSpan(Protocol):
    """A time span of any kind."""

    @property
    def begin_ns(self) -> int:
        """When it begins."""

    @property
    def end_ns(self) -> int:
        """When it ends."""


Time = TypeVar("Time", bound=TimeSpan)


class PartitionLeadership(NamedTuple):
    """State of a partition: its leader (-1 for none), the size of its ISR, its leader epoch."""

    leader: int
    isr: int
    epoch: int


def leader_spans(claims: Mapping[str, Sequence[Claim]]) -> list[LeaderSpan]:
    """Leaders of epochs according to their own answers; a longer time without answers begins a new span."""
    found = [span for node, answers in claims.items() for span in _leading(node, answers)]
    began: dict[int, tuple[int, str]] = {}
    for span in sorted(found, key=lambda span: span.begin_ns):
        began.setdefault(span.epoch, (span.begin_ns, span.node))
    return [span._replace(superseded_ns=_superseded(span, began)) for span in found]


def changes(moments: Iterable[tuple[int, State]], end_ns: int) -> list[StateSpan[State]]:
    """Convert states in the order of time to spans until the next change."""
    spans: list[StateSpan[State]] = []
    for time_ns, state in moments:
        if spans and spans[-1].state == state:
            continue
        if spans:
            spans[-1] = spans[-1]._replace(end_ns=time_ns)
        spans.append(StateSpan(time_ns, end_ns, state))
    return spans


def longest(times: Sequence[Time], limit: int) -> tuple[list[Time], int]:
    """The longest time spans, in their order, and the number of those that are left out.

    Args:
        times: spans of any kind.
        limit: maximum number of spans.
    """
    places = sorted(range(len(times)), key=lambda at: times[at].begin_ns - times[at].end_ns)[:limit]
    return [times[at] for at in sorted(places)], len(times) - len(places)


def left_out_text(count: int, which: str, lack: str) -> str:
    """Text such as ``the shortest is not drawn`` or ``the 7 shortest are not drawn``.

    Args:
        count: number of items left out, at least 1.
        which: which ones, such as ``shortest``.
        lack: what was not done, such as ``drawn``.
    """
    return f"the {which} is not {lack}" if count == 1 else f"the {count:,} {which} are not {lack}"


def settled(views: Iterable[PartitionView]) -> dict[PartitionName, list[tuple[int, PartitionLeadership]]]:
    """Changes of leader, leader epoch or ISR size, by partition: time and new state.

    Several brokers report the same partition, and a broker that is cut off continues to report an old state.
    So a repeated report of a broker is not a change, and reports of an earlier leader epoch are ignored.
    """
    known: dict[tuple[str, PartitionName], PartitionLeadership] = {}
    newest: dict[PartitionName, int] = {}
    states: dict[PartitionName, list[tuple[int, PartitionLeadership]]] = {}
    for view in views:
        state = PartitionLeadership(view.leader, view.isr, view.epoch)
        if known.get((view.node, view.partition)) == state:
            continue
        known[view.node, view.partition] = state
        if view.epoch >= newest.get(view.partition, view.epoch):
            newest[view.partition] = view.epoch
            states.setdefault(view.partition, []).append((view.time_ns, state))
    return states


def _leading(node: str, answers: Sequence[Claim]) -> list[LeaderSpan]:
    spans: list[LeaderSpan] = []
    going_on = False
    for time_ns, epoch in answers:
        if epoch is None:
            going_on = False
        elif going_on and spans[-1].epoch == epoch and time_ns - spans[-1].end_ns <= SILENCE_NS:
            spans[-1] = spans[-1]._replace(end_ns=time_ns)
        else:
            spans.append(LeaderSpan(node, time_ns, time_ns, epoch, None))
            going_on = True
    return spans


def _superseded(span: LeaderSpan, began: Mapping[int, tuple[int, str]]) -> int | None:
    later = [
        time_ns
        for epoch, (time_ns, node) in began.items()
        if epoch > span.epoch and node != span.node and time_ns < span.end_ns
    ]
    return max(min(later), span.begin_ns) if later else None
