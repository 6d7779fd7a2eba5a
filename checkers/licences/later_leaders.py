"""Elections after which a leader may lack records that only an earlier leader had acknowledged (acks=1).

The metadata log shows each election with its leader epoch, and the start of that epoch bounds which records
may be lost (`checkers.licences.epoch_bounds`).  A fault without an election removes nothing: a leader that
was killed, or cut off, and leads again still has its log.  If the metadata log does not reach back to the
partition's creation, every observed rise of the leader epoch and every fault may have been an election.
"""

from collections.abc import Iterator

from checkers.evidence.partition_changes import NOBODY
from checkers.licences.disturbances import faults, leader_moves
from checkers.licences.facts import Facts
from checkers.licences.permits import LicenceEvent
from checkers.licences.unclean import recorded_election


def later_leaders(facts: Facts) -> Iterator[LicenceEvent]:
    """Every election of a leader after a partition's first, or all that may have been one."""
    for partition, states in facts.changes.states.items():
        for state in states[1:]:
            if state.elected and state.leader != NOBODY:
                yield from recorded_election(facts, partition, state, "elected")
    untold = {partition for partition in facts.partitions if partition not in facts.changes.states}
    yield from (move for move in leader_moves(facts) if move.where in untold)
    for fault in faults(facts):
        for partition in sorted(untold):
            yield fault._replace(where=partition)
