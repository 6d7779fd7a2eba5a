"""Whether a disk may be destroyed without losing acknowledged records, by the cluster's state; pure.

An acknowledged record is on every replica in sync, so it survives as long as one of these replicas keeps its
disk.  If there are more replicas than ``min.insync.replicas``, this module requires that at least
``min.insync.replicas`` of them keep their disks, so that the partition also accepts writes.  Records that
were committed to the metadata log survive as long as a majority of the voters has them.

Only the run's topics are considered, not ``__consumer_offsets`` and ``__transaction_state``: in scenarios
with random faults of disks, clients neither commit offsets nor begin transactions.
"""

from collections.abc import Sequence

import msgspec

from checkers.history.faults import ResolvedBy
from harness.faults.refused_faults import DEAD, HELD, Refused, withheld
from harness.faults.targets import Resolved, resolve
from harness.kafka.answers import Place, QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.faults import Fault, OfDisk, Scope, WipeDisk
from harness.vocabulary.topology import Node

CAUGHT_UP_MS = 3_000
"""How long ago a voter must at most have had the leader's whole log.  This is less than the duration of any
fault, so that the leader's last state of a removed disk does not count.
"""


class DiskFault(msgspec.Struct, frozen=True):
    """A fault of a broker's disk.

    Attributes:
        broker: id of the broker.
        answers: number of answers received before the fault; only later ones may show its effect.
        partitions: partitions that had this broker among their replicas.
    """

    broker: int
    answers: int
    partitions: frozenset[Place]


def disk_fault_of(node: Node, snapshot: ClusterSnapshot) -> DiskFault:
    """The record of a fault that has just hit a node's disk."""
    return DiskFault(node.id, snapshot.answers, snapshot.copies_on(node))


def chosen(spec: Fault, snapshot: ClusterSnapshot, disk_faults: Sequence[DiskFault]) -> Resolved | Refused:
    """The node that a fault hits now, or the reason why it hits none.

    If several nodes have the role, it hits the first one, in the order of its draw, that is alive and whose
    disk may be lost.

    Args:
        spec: the fault.
        snapshot: the current snapshot of the cluster.
        disk_faults: earlier faults of disks.
    """
    refused: dict[str, str] = {}
    living = snapshot.holding(snapshot.dead)
    while True:
        resolved = resolve(spec.target, spec.draw, living.holding(refused))
        if resolved is None or (refused and resolved.by is ResolvedBy.FALLBACK):
            break
        why = objection(spec, resolved.node, living, disk_faults)
        if why is None:
            return resolved
        refused[resolved.node.name] = why
    for name, why in refused.items():
        return withheld(name, why)
    return HELD if resolve(spec.target, spec.draw, snapshot) is None else DEAD


def objection(
    spec: Fault, node: Node, snapshot: ClusterSnapshot, disk_faults: Sequence[DiskFault]
) -> str | None:
    """The reason why a fault must be withheld; None if it loses no acknowledged record, or if it may.

    Args:
        spec: the fault.
        node: its target.
        snapshot: the current snapshot of the cluster.
        disk_faults: earlier faults of disks.
    """
    if not isinstance(spec, OfDisk) or not spec.sparing:
        return None
    if node.is_broker and (why := _of_partitions(node, snapshot, disk_faults)):
        return why
    return _of_quorum(node, snapshot) if node.is_controller and _takes_metadata(spec) else None


def _takes_metadata(spec: OfDisk) -> bool:
    """Whether the fault loses the metadata log; a loss of power does not, because its writes are synced."""
    return isinstance(spec, WipeDisk) and spec.scope is not Scope.TOPIC and spec.log_dir in (None, 1)


def _of_partitions(node: Node, snapshot: ClusterSnapshot, disk_faults: Sequence[DiskFault]) -> str | None:
    """The first partition that would have too few replicas, as a reason; None if there is none."""
    for where, states in sorted(snapshot.reported.items()):
        name = "/".join(map(str, where))
        if not states:
            return f"no broker reports the ISR of {name}"
        if not any(node.id in state.replicas for state in states):
            continue
        least = max(1, min(snapshot.min_insync_replicas, *(len(state.replicas) - 1 for state in states)))
        empty = {each.broker for each in disk_faults if _still_out(each, where, snapshot)}
        others = snapshot.in_sync(where) - {node.id} - snapshot.held_ids - empty
        if len(others) < least:
            return f"{len(others)} of {least} other copies of {name} are in sync for certain"
    return None


def _still_out(fault: DiskFault, where: Place, snapshot: ClusterSnapshot) -> bool:
    """Whether a replica on a lost disk may still be in the ISR, because nobody reported that it left."""
    return where in fault.partitions and snapshot.out_of_sync.get((*where, fault.broker), -1) <= fault.answers


def _of_quorum(node: Node, snapshot: ClusterSnapshot) -> str | None:
    """The reason if too few voters would be left; None otherwise."""
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
    """The leader, and the voters that recently had its whole log according to its answer."""
    lately = (voter for voter in quorum.voters if now_ms - voter.last_caught_up_ms <= CAUGHT_UP_MS)
    return {quorum.leader_id, *(voter.id for voter in lately)}
