"""Unclean elections: when they happened, and which records they may have removed.

The metadata log shows each of them with its leader epoch.  The start of that epoch bounds which records may
be lost (`checkers.licences.epoch_bounds`).  If the metadata log does not reach back to the partition's
creation, a request is assumed to be an election in the first epoch that was not observed when it was made.
"""

from collections.abc import Iterator

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.administration import UNCLEAN, Election
from checkers.evidence.partition_changes import PartitionState
from checkers.licences.disturbances import faults, moves, span_text
from checkers.licences.epoch_bounds import bound_at, bounds_of
from checkers.licences.facts import Facts
from checkers.licences.permission import permitted
from checkers.licences.permits import LicenceEvent
from checkers.licences.requested_elections import by_request

SETTLING_NS = 1_000_000_000
"""How long after a broker reports a new epoch it may still act in the old one."""


def requested(facts: Facts) -> Iterator[LicenceEvent]:
    """Unclean elections that ElectLeaders requested, or may have caused."""
    unclean = [election for election in facts.elections if election.type == UNCLEAN]
    for partition in facts.partitions:
        if partition in facts.changes.states:
            asked = by_request(facts, partition)
            for state in facts.changes.states[partition]:
                for election in asked.get(state.offset, ()):
                    yield from _requested_election(facts, election, partition, state)
        else:
            for election in unclean:
                if election.may_have_elected(partition):
                    yield _as_seen(facts, election, partition)


def configured(facts: Facts) -> Iterator[LicenceEvent]:
    """Unclean elections while configs may have allowed them.

    If the metadata log can't show them, all events that may have caused one are returned.
    """
    spans = {topic.name: permitted(facts, topic) for topic in facts.setup.topics}
    for partition, states in facts.changes.states.items():
        for state in states:
            span = facts.changes.span(state)
            if state.unclean and any(span.meets(*allowed) for allowed in spans.get(partition.topic, ())):
                yield from recorded_election(facts, partition, state)
    unrecorded = {partition for partition in facts.partitions if partition not in facts.changes.states}
    for partition, event in _perhaps(facts, unrecorded):
        for allowed in spans[partition.topic]:
            if allowed.meets(event.from_ns, event.to_ns):
                yield event._replace(from_ns=max(event.from_ns, allowed.from_ns))


def last_known(facts: Facts) -> Iterator[LicenceEvent]:
    """Elections of a last known leader, which need no permission."""
    for partition, states in facts.changes.states.items():
        for state in states:
            if state.unclean and state.last_leader:
                yield from recorded_election(facts, partition, state)


def epoch_after(facts: Facts, partition: PartitionName, time_ns: int) -> int | None:
    """The leader epoch after the newest one reported by a time; None if none was reported by then."""
    seen = [view.leader_epoch for view in facts.views.get(partition, ()) if view.time_ns <= time_ns]
    return max(seen) + 1 if seen else None


def _perhaps(facts: Facts, unrecorded: set[PartitionName]) -> Iterator[tuple[PartitionName, LicenceEvent]]:
    """Changes of leaders, and faults, that may have caused unclean elections."""
    for move in moves(facts):
        if move.partition in unrecorded:
            within = span_text(move.from_ns, move.to_ns)
            text = f"the leader epoch of {move.partition} increased from {move.known} {within}"
            event = LicenceEvent(move.from_ns, move.to_ns, move.partition, text)
            yield move.partition, bound_at(facts, move.partition, move.known + 1).limits(event)
    for event in faults(facts):
        for partition in sorted(unrecorded):
            bound = bound_at(facts, partition, epoch_after(facts, partition, event.from_ns))
            yield partition, bound.limits(event._replace(where=partition))


def _requested_election(
    facts: Facts, election: Election, partition: PartitionName, state: PartitionState
) -> Iterator[LicenceEvent]:
    """An election that a request caused, as the metadata log shows it."""
    request = election.request
    for event in recorded_election(facts, partition, state):
        text = f"{_request_text(election, partition)}; {event.text}"
        yield event._replace(from_ns=max(event.from_ns, request.from_ns), text=text)


def _as_seen(facts: Facts, election: Election, partition: PartitionName) -> LicenceEvent:
    """An election that a request may have caused, by the epochs that brokers reported."""
    request = election.request
    epoch = epoch_after(facts, partition, request.from_ns)
    # An unanswered request may have been executed at any time, also in a later epoch.
    until_ns = NEVER if epoch is None or request.unknown else settled_ns(facts, partition, epoch)
    event = LicenceEvent(request.from_ns, until_ns, partition, _request_text(election, partition))
    return bound_at(facts, partition, epoch).limits(event)


def _request_text(election: Election, partition: PartitionName) -> str:
    return f"operation {election.request.began.index} asked for an election of {partition}"


def recorded_election(
    facts: Facts, partition: PartitionName, state: PartitionState, how: str = "elected uncleanly"
) -> Iterator[LicenceEvent]:
    """An election in the metadata log, as one event for each of its bounds."""
    span = facts.changes.span(state)
    views = facts.views.get(partition, [])
    older = max((view.leader_epoch for view in views if view.leader_epoch < state.leader_epoch), default=-1)
    sightings = (view.time_ns for view in views if view.leader_epoch == older)
    from_ns = max(span.from_ns, min(sightings, default=0))
    until_ns = settled_ns(facts, partition, state.leader_epoch)
    who = f"broker {state.leader} was {how} {span_text(from_ns, until_ns)}"
    for bound in bounds_of(facts, partition, state):
        yield bound.limits(LicenceEvent(from_ns, until_ns, partition, who))


def settled_ns(facts: Facts, partition: PartitionName, epoch: int) -> int:
    """The time from which no broker can have acted in an older epoch, nanoseconds.

    A broker that never reported the epoch counts as stopped since its last report.
    """
    known: dict[str, int] = {}
    last: dict[str, int] = {}
    for view in facts.views.get(partition, ()):
        last[view.node] = view.time_ns
        if view.leader_epoch >= epoch:
            known.setdefault(view.node, view.time_ns)
    if not known:
        return NEVER
    return max({**last, **known}.values()) + SETTLING_NS
