"""Elections after which a leader may lack records that only an earlier leader had acknowledged (acks=1).

The metadata log shows each election with its leader epoch, and the start of that epoch bounds which records
may be lost (`checkers.licences.epoch_bounds`).  A fault without an election removes nothing: a leader that
was killed, or cut off, and leads again still has its log.  A new epoch of the same leader removes nothing
either: the controller starts one when a reassignment removes replicas
(``PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded``).

If the metadata log does not reach back to the partition's creation, every observed rise of the leader epoch
and every fault may have been an election.  If it ends before the run, there may have been elections since.
"""

from collections.abc import Iterator
from itertools import pairwise

from checkers.columns.tables import NEVER
from checkers.evidence.partition_changes import NOBODY
from checkers.history.units import NS_PER_S
from checkers.licences.disturbances import faults, leader_moves
from checkers.licences.facts import Facts
from checkers.licences.permits import LicenceEvent
from checkers.licences.unclean import recorded_election


def later_leaders(facts: Facts) -> Iterator[LicenceEvent]:
    """Elections of new leaders; if the metadata log is incomplete, also events that may have been one."""
    for partition, states in facts.changes.states.items():
        for before, state in pairwise(states):
            if state.elected and state.leader not in {NOBODY, before.leader}:
                yield from recorded_election(facts, partition, state, "elected")
    yield from _unrecorded(facts)
    unrecorded = {partition for partition in facts.partitions if partition not in facts.changes.states}
    yield from (move for move in leader_moves(facts) if move.where in unrecorded)
    for fault in faults(facts):
        for partition in sorted(unrecorded):
            yield fault._replace(where=partition)


def _unrecorded(facts: Facts) -> Iterator[LicenceEvent]:
    """The time after the end of the metadata log, in which partitions may have got other leaders."""
    until_ns = facts.changes.complete_until_ns
    if until_ns == NEVER:
        return
    text = f"the metadata log shows elections only until {until_ns / NS_PER_S:.3f} s"
    for partition in facts.changes.states:
        doubt = f"records of {partition} may have been lost in a later election: {text}"
        yield LicenceEvent(until_ns, NEVER, partition, text, doubt=doubt)
