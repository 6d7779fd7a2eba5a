"""Unclean elections: when they happened, and which records they may have removed.

The metadata log shows each of them with its leader epoch; where that epoch began bounds what is gone
(`checkers.licences.epoch_bounds`).  Where the metadata log does not reach back to the partition's creation, a
request is assumed to be an election in the first epoch that was not observed when it was made.
"""

from collections.abc import Iterator

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.administration import UNCLEAN, Election
from checkers.evidence.partition_changes import PartitionState
from checkers.licences.asked import by_request
from checkers.licences.disturbances import faults, moves, span_text
from checkers.licences.epoch_bounds import bound_at, bounds_of
from checkers.licences.facts import Facts
from checkers.licences.permission import permitted
from checkers.licences.permits import Event

SETTLING_NS = 1_000_000_000
"""How much later than a broker reports a new epoch it may still act in the old one."""


def requested(facts: Facts) -> Iterator[Event]:
    """Unclean elections that ElectLeaders requested, or may have brought about."""
    unclean = [election for election in facts.elections if election.type == UNCLEAN]
    for partition in facts.partitions:
        if partition in facts.changes.states:
            asked = by_request(facts, partition)
            for state in facts.changes.states[partition]:
                for election in asked.get(state.offset, ()):
                    yield from _as_told(facts, election, partition, state)
        else:
            for election in unclean:
                if election.may_have_elected(partition):
                    yield _as_seen(facts, election, partition)


def configured(facts: Facts) -> Iterator[Event]:
    """Unclean elections while configs may have allowed them.

    Where the metadata log can't show them, all that may have been one.
    """
    spans = {topic.name: permitted(facts, topic) for topic in facts.setup.topics}
    for partition, states in facts.changes.states.items():
        for state in states:
            span = facts.changes.span(state)
            if state.unclean and any(span.meets(*allowed) for allowed in spans.get(partition.topic, ())):
                yield from _told(facts, partition, state)
    untold = {partition for partition in facts.partitions if partition not in facts.changes.states}
    for partition, event in _perhaps(facts, untold):
        for allowed in spans[partition.topic]:
            if allowed.meets(event.from_ns, event.to_ns):
                yield event._replace(from_ns=max(event.from_ns, allowed.from_ns))


def last_known(facts: Facts) -> Iterator[Event]:
    """Elections of a last known leader that nobody had to allow."""
    for partition, states in facts.changes.states.items():
        for state in states:
            if state.unclean and state.last_leader:
                yield from _told(facts, partition, state)


def epoch_after(facts: Facts, partition: PartitionName, time_ns: int) -> int | None:
    """The first leader epoch that nobody had reported at a time; None if none was reported."""
    seen = [view.leader_epoch for view in facts.views.get(partition, ()) if view.time_ns <= time_ns]
    return max(seen) + 1 if seen else None


def _perhaps(facts: Facts, untold: set[PartitionName]) -> Iterator[tuple[PartitionName, Event]]:
    """Moves of leaders, and faults, of which it is unknown whether they brought unclean elections about."""
    for move in moves(facts):
        if move.partition in untold:
            within = span_text(move.from_ns, move.to_ns)
            told = f"the leader epoch of {move.partition} increased from {move.known} {within}"
            event = Event(move.from_ns, move.to_ns, move.partition, told)
            yield move.partition, bound_at(facts, move.partition, move.known + 1).limits(event)
    for event in faults(facts):
        for partition in sorted(untold):
            bound = bound_at(facts, partition, epoch_after(facts, partition, event.from_ns))
            yield partition, bound.limits(event._replace(where=partition))


def _as_told(
    facts: Facts, election: Election, partition: PartitionName, state: PartitionState
) -> Iterator[Event]:
    """An election that a request brought about, as the metadata log shows it."""
    request = election.request
    for event in _told(facts, partition, state):
        text = f"{_asked(election, partition)}; {event.text}"
        yield event._replace(from_ns=max(event.from_ns, request.from_ns), text=text)


def _as_seen(facts: Facts, election: Election, partition: PartitionName) -> Event:
    """An election that a request may have brought about, by what brokers reported epochs."""
    request = election.request
    epoch = epoch_after(facts, partition, request.from_ns)
    # What was not answered may have been done at any time, in a later epoch too.
    until_ns = NEVER if epoch is None or request.unknown else settled_ns(facts, partition, epoch)
    event = Event(request.from_ns, until_ns, partition, _asked(election, partition))
    return bound_at(facts, partition, epoch).limits(event)


def _asked(election: Election, partition: PartitionName) -> str:
    return f"operation {election.request.began.index} asked for an election of {partition}"


def _told(facts: Facts, partition: PartitionName, state: PartitionState) -> Iterator[Event]:
    """An unclean election that the metadata log reports, once for each bound that it has."""
    span = facts.changes.span(state)
    views = facts.views.get(partition, [])
    older = max((view.leader_epoch for view in views if view.leader_epoch < state.leader_epoch), default=-1)
    sightings = (view.time_ns for view in views if view.leader_epoch == older)
    from_ns = max(span.from_ns, min(sightings, default=0))
    until_ns = settled_ns(facts, partition, state.leader_epoch)
    who = f"broker {state.leader} was elected uncleanly {span_text(from_ns, until_ns)}"
    for bound in bounds_of(facts, partition, state):
        yield bound.limits(Event(from_ns, until_ns, partition, who))


def settled_ns(facts: Facts, partition: PartitionName, epoch: int) -> int:
    """Time from which no broker can have acted in an older epoch.

    A broker that never reported the epoch had reported what it reported last: it was gone from then on.
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
