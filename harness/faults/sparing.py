"""Whether a disk may be destroyed without losing acknowledged records, by the cluster's state; pure.

A record that was acknowledged is on every replica in sync, so it survives as long as one of those keeps its
disk.  If there are more copies than ``min.insync.replicas``, this module requires that so many of them keep
their disk: then the partition also takes writes.  Records that were committed to the metadata log survive as
long as a majority of the voters has them.

Only the run's topics are considered, not ``__consumer_offsets`` and ``__transaction_state``: in scenarios
with random faults of disks, clients neither commit offsets nor begin transactions.
"""

from collections.abc import Sequence

import msgspec

from harness.faults.targets import Resolved, resolve
from harness.kafka.answers import Place, QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.faults import Fault, OfDisk, Scope, WipeDisk
from harness.vocabulary.topology import Node

HELD = "the target is held by another fault"
"""Why a fault hits none where all that it means are held."""
DEAD = "the target is dead: its process ended by itself"
"""Why a fault hits no target, if no fault holds its target and the target has no process."""
CAUGHT_UP_MS = 3_000
"""How long ago a voter may have had all of the leader's log; shorter than any fault is in force, so that what
a leader remembers of a removed disk does not count.
"""


class DiskFault(msgspec.Struct, frozen=True):
    """A fault of a broker's disk.

    Attributes:
        broker: the broker's id.
        answers: number of answers received by then; later ones may show the effect of the fault.
        partitions: partitions of which the broker was to have a copy then.
    """

    broker: int
    answers: int
    partitions: frozenset[Place]


def strike_of(node: Node, snapshot: ClusterSnapshot) -> DiskFault:
    """What a fault that has just hit a node's disk hit."""
    return DiskFault(node.id, snapshot.answers, snapshot.copies_on(node))


def chosen(spec: Fault, snapshot: ClusterSnapshot, strikes: Sequence[DiskFault]) -> Resolved | str:
    """The node that a fault hits now, or why it hits none.

    If several nodes have the role, it hits the first one in the order of its draw that is alive and does not
    need its disk.

    Args:
        spec: the fault.
        snapshot: the current snapshot of the cluster.
        strikes: earlier faults of disks.
    """
    refused: dict[str, str] = {}
    living = snapshot.holding(snapshot.dead)
    while True:
        resolved = resolve(spec.target, spec.draw, living.holding(refused))
        if resolved is None or (refused and resolved.by == "fallback"):
            break
        why = objection(spec, resolved.node, living, strikes)
        if why is None:
            return resolved
        refused[resolved.node.name] = why
    for name, why in refused.items():
        return f"withheld from {name}: {why}"
    return HELD if resolve(spec.target, spec.draw, snapshot) is None else DEAD


def objection(spec: Fault, node: Node, snapshot: ClusterSnapshot, strikes: Sequence[DiskFault]) -> str | None:
    """Why a fault is to be withheld; None if no acknowledged record can be lost, or if that is permitted.

    Args:
        spec: the fault.
        node: its target.
        snapshot: the current snapshot of the cluster.
        strikes: earlier faults of disks.
    """
    if not isinstance(spec, OfDisk) or not spec.sparing:
        return None
    if node.is_broker and (why := _of_partitions(node, snapshot, strikes)):
        return why
    return _of_quorum(node, snapshot) if node.is_controller and _takes_metadata(spec) else None


def _takes_metadata(spec: OfDisk) -> bool:
    """Whether the metadata log goes; without power it stays, because every write to it is synced."""
    return isinstance(spec, WipeDisk) and spec.scope is not Scope.TOPIC and spec.log_dir in (None, 1)


def _of_partitions(node: Node, snapshot: ClusterSnapshot, strikes: Sequence[DiskFault]) -> str | None:
    """The first partition that would have too few copies."""
    for where, states in sorted(snapshot.reported.items()):
        name = "/".join(map(str, where))
        if not states:
            return f"no broker reports the ISR of {name}"
        if not any(node.id in state.replicas for state in states):
            continue
        least = max(1, min(snapshot.min_insync_replicas, *(len(state.replicas) - 1 for state in states)))
        empty = {each.broker for each in strikes if _still_out(each, where, snapshot)}
        others = snapshot.in_sync(where) - {node.id} - snapshot.held_ids - empty
        if len(others) < least:
            return f"{len(others)} of {least} other copies of {name} are in sync for certain"
    return None


def _still_out(strike: DiskFault, where: Place, snapshot: ClusterSnapshot) -> bool:
    """Whether a copy that was hit has not been seen to leave the ISR: in it, it reports the lost disk."""
    return (
        where in strike.partitions and snapshot.out_of_sync.get((*where, strike.broker), -1) <= strike.answers
    )


def _of_quorum(node: Node, snapshot: ClusterSnapshot) -> str | None:
    """Too few voters that would be left."""
    quorum = snapshot.quorum
    if quorum is None:
        return "no leader of the quorum is visible"
    voters = {voter.id for voter in quorum.voters}
    if node.id not in voters:
        return None
    whole = _caught_up(quorum, snapshot.taken_at_ms) - snapshot.held_ids
    rest = len(whole - {node.id})
    if 2 * rest > len(voters):
        return None
    return f"{rest} other voters, of {len(voters)} in all, certainly have all of the metadata"


def _caught_up(quorum: QuorumAnswer, now_ms: int) -> set[int]:
    """Voters of which the leader reports that they had all it has lately, and the leader itself."""
    lately = (voter for voter in quorum.voters if now_ms - voter.last_caught_up_ms <= CAUGHT_UP_MS)
    return {quorum.leader_id, *(voter.id for voter in lately)}
