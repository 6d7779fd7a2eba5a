"""Unclean elections that requests may have caused, including requests without an answer.

An answered request took effect before its answer.  A request without an answer may take effect later, but not
without limit.

1. *How often.*  The controller that executes it elects each of its partitions at most once, and only one that
   has no leader.  It is executed again only if the broker that was asked forwards it again: when it loses its
   connection to the controller, or receives NOT_CONTROLLER, for 60 s at most (NodeToControllerRequestThread).
   Neither happens while the quorum stays in one epoch and no fault is in force.  So each election without
   another explanation uses up one unanswered request.  This does not hold if the epoch has changed since the
   first of these elections, or if a fault was in force at any time since 60 s before it.
2. *How late.*  It waits in three places: until the broker has read it, until the broker has forwarded it, and
   until the controller has processed it.  While faults are in force, it is unknown how long a packet or a
   paused process delays it.  So that time is not counted, and one minute is allowed for each place.
"""

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import UNCLEAN, Election
from checkers.evidence.partition_changes import PartitionState
from checkers.licences.facts import Facts
from checkers.licences.permission import permitted, topic_named

FORWARDED_NS = 60_000_000_000
"""How long a broker continues to forward a request to controllers."""
ACTING_NS = 3 * FORWARDED_NS
"""How long an unanswered request may take effect, not counting the time while faults are in force."""


def by_request(facts: Facts, partition: PartitionName) -> dict[int, tuple[Election, ...]]:
    """The unclean elections of a partition that were requested, or may have been.

    Returns:
        The requests that may have caused each election, by the offset of its record in the metadata log.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    asked = [each for each in facts.elections if each.type == UNCLEAN and each.may_have_elected(partition)]
    if not asked:
        return {}
    found: dict[int, tuple[Election, ...]] = {}
    used: list[PartitionState] = []
    for state in facts.changes.states.get(partition, ()):
        if not state.unclean:
            continue
        span = facts.changes.span(state)
        met = [each for each in asked if span.meets(each.request.from_ns, each.request.to_ns)]
        unanswered = [each for each in met if each.request.unknown]
        answered = len(met) > len(unanswered)
        if not (answered or _otherwise(facts, partition, state) or (used and _again(facts, used[0], state))):
            if len(used) >= len(unanswered):
                continue
            used.append(state)
        acting = (each for each in met if not each.request.unknown or not _over(facts, each, state))
        found[state.offset] = tuple(acting)
    return {offset: elections for offset, elections in found.items() if elections}


def allowed(facts: Facts, partition: PartitionName, state: PartitionState) -> bool:
    """Whether an unclean election was permitted: by a config, a request, or KIP-966 (last known leader).

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    return _otherwise(facts, partition, state) or state.offset in by_request(facts, partition)


def _otherwise(facts: Facts, partition: PartitionName, state: PartitionState) -> bool:
    """Whether an election was permitted without any request."""
    if state.last_leader and facts.eligible_replicas:
        return True
    span = facts.changes.span(state)
    return any(span.meets(*times) for times in permitted(facts, topic_named(facts, partition.topic)))


def _again(facts: Facts, first: PartitionState, state: PartitionState) -> bool:
    """Whether a request that caused one election may have been forwarded again and have caused another."""
    from_ns = facts.changes.span(first).from_ns - FORWARDED_NS
    to_ns = facts.changes.span(state).to_ns
    return state.epoch != first.epoch or any(window.overlaps(from_ns, to_ns) for window in facts.windows)


def _over(facts: Facts, election: Election, state: PartitionState) -> bool:
    """Whether an unanswered request can no longer take effect when a record is appended."""
    at_ns, until_ns, calm_ns = election.request.from_ns, facts.changes.span(state).from_ns, 0
    for window in facts.windows:
        calm_ns += max(0, min(window.invoked_ns, until_ns) - at_ns)
        at_ns = max(at_ns, window.end_ns)
    return calm_ns + max(0, until_ns - at_ns) > ACTING_NS
