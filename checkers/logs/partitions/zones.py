"""Periods in which a partition certainly could not acknowledge records that were sent in the period.

There are two kinds of such periods.

1.  *Too few in sync*.  The ISR had fewer members than ``min.insync.replicas``, and the leader knew it.  In
    this case the leader refuses to append (``Partition.appendRecordsToLeader``).  Its own answer to an
    observer shows what it knows, and `SETTLING_NS` later it certainly acts on that.
2.  *A member is down*.  A member of the ISR was killed, stopped or paused, and had not left the ISR.  A
    leader counts every member, including those that it has asked the controller to remove
    (``Partition.maximalIsr``).  Records that such a member has not fetched are not below the high watermark
    (``Partition.maybeIncrementLeaderHW``): they are neither acknowledged nor returned to consumers.  Records
    that were fetched before may be acknowledged late, so only records that were sent afterwards count.

A state is certain from the time at which a leader of the quorum reported it as committed, until the last time
at which the record of the next state certainly had not been appended (`checkers.evidence.metadata_log`).
After an unclean election, a former leader may acknowledge without regard to the ISR, so nothing is certain.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.faults import FaultWindow
from checkers.evidence.metadata_log import TimeBounds
from checkers.evidence.min_isr import MinIsrPeriod, logged_min_isr
from checkers.evidence.partition_changes import NOBODY, PartitionState
from checkers.history.observed import nodes_seen
from checkers.history.units import NS_PER_S
from checkers.licences.facts import Facts
from checkers.logs.partitions.brokers import Known, knowledge_of

SETTLING_NS = 1_000_000_000
"""How long after a leader reports a state it certainly acts on it.

In 23 clean runs of all workloads on a busy host, even a value of 0 would have caused no finding.
"""


class Zone(NamedTuple):
    """A period in which records that are sent in it may not be acknowledged.

    Attributes:
        partition: the partition.
        from_ns: when the period begins, nanoseconds.
        to_ns: when the period ends, nanoseconds.
        witness: indices of the operations that show it.
        why: the proof, as sentences.
    """

    partition: PartitionName
    from_ns: int
    to_ns: int
    witness: tuple[int, ...]
    why: tuple[str, ...]


def below_min_isr(facts: Facts, end_ns: int) -> Iterator[Zone]:
    """Periods in which too few replicas were in sync, and the leader knew it.

    Args:
        facts: the history.
        end_ns: the time until which the metadata log is complete, nanoseconds.
    """
    min_isr = logged_min_isr(facts.history)
    for partition, states in facts.changes.states.items():
        for state, span in certain_states(facts, states, end_ns):
            if state.leader != NOBODY:
                for piece in min_isr.pieces(partition.topic, state.offset, span.to_ns):
                    if len(state.isr) < min(piece.low, len(state.replicas)):
                        yield from _known_to_leader(facts, partition, state, piece)


def member_down(facts: Facts, end_ns: int) -> Iterator[Zone]:
    """Periods in which a member of the ISR was down.

    Args:
        facts: the history.
        end_ns: the time until which the metadata log is complete, nanoseconds.
    """
    downs = [(facts.ids[node], node, window) for node, window in _downs(facts) if node in facts.ids]
    for partition, states in facts.changes.states.items() if downs else ():
        certain = list(certain_states(facts, states, end_ns))
        for broker, node, window in downs:
            for first, span in memberships(certain, broker):
                from_ns = max(span.from_ns, window.effective_ns or 0)
                to_ns = min(span.to_ns, window.heal_invoked_ns or 0)
                if from_ns < to_ns:
                    down = f"from {_s(window.effective_ns)} to {_s(window.heal_invoked_ns)}: {window.kind}"
                    why = (
                        f"{node} (broker {broker}) was certainly down {down}.",
                        str(first),
                        f"No record that took it out of the ISR had been appended by {_s(span.to_ns)}.",
                    )
                    yield Zone(partition, from_ns, to_ns, window.operations, why)


def certain_states(
    facts: Facts, states: Sequence[PartitionState], end_ns: int
) -> Iterator[tuple[PartitionState, TimeBounds]]:
    """The states before any unclean election, each with the times between which it was certainly in force."""
    clean = list(takewhile(lambda state: not (state.unclean or state.recovering), states))
    spans = [facts.changes.span(state) for state in states]
    ends = [*(span.from_ns for span in spans[1:]), end_ns]
    for state, span, to_ns in zip(clean, spans, ends, strict=False):
        yield state, TimeBounds(span.to_ns, min(to_ns, end_ns))


def memberships(
    certain: Sequence[tuple[PartitionState, TimeBounds]], broker: int
) -> Iterator[tuple[PartitionState, TimeBounds]]:
    """Each series of states with a broker in the ISR: its first state, and when it certainly applied."""
    first: tuple[PartitionState, int] | None = None
    until_ns = 0
    for state, span in certain:
        if broker in state.isr:
            first = first or (state, span.from_ns)
            until_ns = span.to_ns
        elif first is not None:
            yield first[0], TimeBounds(first[1], until_ns)
            first = None
    if first is not None:
        yield first[0], TimeBounds(first[1], until_ns)


def _known_to_leader(
    facts: Facts, partition: PartitionName, state: PartitionState, piece: MinIsrPeriod
) -> Iterator[Zone]:
    """The period in which the leader certainly acted on a state and on the value of the config."""
    node = next((name for name, number in facts.ids.items() if number == state.leader), "")
    for known in knowledge_of(facts.history).get(node, ()):
        if known.offset >= piece.offset and not _interrupted(facts, node, known):
            from_ns = known.time_ns + SETTLING_NS
            if from_ns < piece.to_ns:
                why = (
                    str(state),
                    f"min.insync.replicas was {piece.low} at least.",
                    (
                        f"{node} reported offset {known.offset} at {_s(known.time_ns)}: it knew all "
                        "records up to there."
                    ),
                    f"No record that changes this had been appended by {_s(piece.to_ns)}.",
                )
                yield Zone(partition, from_ns, piece.to_ns, (known.op,), why)
            return


def _interrupted(facts: Facts, node: str, known: Known) -> bool:
    """Whether a broker may have been stopped between reporting a state and acting on it."""
    return any(
        window.silences
        and window.concerns(node)
        and window.overlaps(known.time_ns, known.time_ns + SETTLING_NS)
        for window in facts.windows
    )


def _downs(facts: Facts) -> Iterator[tuple[str, FaultWindow]]:
    """Nodes that were certainly down, from the confirmation of a fault until its heal started.

    A node does not count if its process was observed running in between.
    """
    for window in facts.windows:
        if window.silences and window.held_ns > 0:
            for node in window.targets:
                if not _seen_running(facts, node, window):
                    yield node, window


def _seen_running(facts: Facts, node: str, window: FaultWindow) -> bool:
    from_ns, to_ns = window.effective_ns or 0, window.heal_invoked_ns or 0
    return any(
        from_ns < operation.time_ns < to_ns and seen.running
        for operation, seen in nodes_seen(facts.history, node)
    )


def _s(time_ns: int | None) -> str:
    return f"{(time_ns or 0) / NS_PER_S:.3f} s"
