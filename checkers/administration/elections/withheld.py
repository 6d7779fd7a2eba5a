"""Partitions without a leader although unclean elections are enabled and a replica is up.

A controller that honours unclean.leader.election.enable elects in the same batch of records that removes a
leader or unfences a broker.  The metadata log has both.  This module measures the time in which, according to
the log, a partition certainly had no leader, and one of its brokers certainly was neither fenced nor shutting
down.
"""

from collections.abc import Iterator, Sequence

from checkers.administration.elections.anomalies import WITHHELD
from checkers.columns.tables import PartitionName
from checkers.evidence.metadata_log import TimeBounds
from checkers.evidence.partition_changes import NOBODY, BrokerState, PartitionChanges, PartitionState
from checkers.history.units import NS_PER_S
from checkers.verdict.verdict import Anomaly

WITHHELD_NS = 10_000_000_000
"""The longest time for which both conditions may hold at once."""


def find_withheld(
    changes: PartitionChanges, partitions: Sequence[PartitionName], end_ns: int
) -> Iterator[Anomaly]:
    """Find partitions without a leader that could have one, once for each period.

    Args:
        changes: the partitions' states in the metadata log.
        partitions: those that permit unclean elections all the time.
        end_ns: the time until which the log is complete, nanoseconds.
    """
    for partition in partitions:
        states = changes.states.get(partition, ())
        for state, without in zip(states, _certain(changes, states, end_ns), strict=True):
            both = (
                (_overlap(without, up), broker)
                for broker in (state.replicas if state.leader == NOBODY else ())
                for up in _active(changes, broker, end_ns)
            )
            longest_ns, broker = max(both, default=(0, NOBODY))
            if longest_ns > WITHHELD_NS:
                yield _found(partition, state, broker, longest_ns, changes.op)


def _certain(
    changes: PartitionChanges, states: Sequence[PartitionState] | Sequence[BrokerState], end_ns: int
) -> list[TimeBounds]:
    """For each state, when it had certainly begun, and until when it had certainly not ended."""
    spans = [changes.span(state) for state in states]
    ends = [*(span.from_ns for span in spans), end_ns][1:]
    return [TimeBounds(span.to_ns, end) for span, end in zip(spans, ends, strict=True)]


def _active(changes: PartitionChanges, broker: int, end_ns: int) -> list[TimeBounds]:
    states = changes.brokers.get(broker, ())
    spans = _certain(changes, states, end_ns)
    return [span for state, span in zip(states, spans, strict=True) if state.active]


def _overlap(one: TimeBounds, other: TimeBounds) -> int:
    return min(one.to_ns, other.to_ns) - max(one.from_ns, other.from_ns)


def _found(
    partition: PartitionName, state: PartitionState, broker: int, for_ns: int, op: int | None
) -> Anomaly:
    return WITHHELD.found(
        f"{partition} had no leader for {for_ns / NS_PER_S:.1f} s while broker {broker}, which has a "
        "replica, was up; unclean elections are enabled.",
        subject=str(partition),
        witness=() if op is None else (op,),
        explanation=(
            f"Offset {state.offset} of the metadata log removed the leader; epoch {state.leader_epoch}.",
        ),
    )
