"""Resolves a symbolic target to a node, by the state of the cluster when the fault begins."""

import msgspec

from checkers.history.faults import ResolvedBy
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.administration import Member
from harness.vocabulary.faults import Target
from harness.vocabulary.topology import Node


class Resolved(msgspec.Struct, frozen=True):
    """A target's node, and how it was found."""

    node: Node
    by: ResolvedBy


def resolve(target: Target | Member, draw: int, snapshot: ClusterSnapshot) -> Resolved | None:
    """The node that the target denotes now; None if no node is free, or if the named node is not free.

    If no free node has the role, any free node is used, so that a schedule never skips a step; the history
    records that.
    """
    free = [node for node in snapshot.nodes if node.name not in snapshot.held]
    if isinstance(target, Member):
        named = target.of(snapshot.nodes)
        return Resolved(named, by=ResolvedBy.NAME) if named in free else None
    if not free:
        return None
    having = [node for node in free if node.id in _ids(target, draw, snapshot)]
    chosen = having or free
    return Resolved(chosen[draw % len(chosen)], by=ResolvedBy.ROLE if having else ResolvedBy.FALLBACK)


def roles_of(node: Node, draw: int, snapshot: ClusterSnapshot) -> tuple[Target, ...]:
    """The roles that a node has now, given the draw of the fault that hits it."""
    return tuple(target for target in Target if node.id in _ids(target, draw, snapshot))


def _ids(target: Target, draw: int, snapshot: ClusterSnapshot) -> set[int]:
    match target:
        case Target.ACTIVE_CONTROLLER:
            return set() if snapshot.active_controller is None else {snapshot.active_controller}
        case Target.VOTER:
            return {node.id for node in snapshot.nodes if node.is_controller}
        case Target.PARTITION_LEADER:
            return {snapshot.leaders[draw % len(snapshot.leaders)]} if snapshot.leaders else set()
        case Target.QUORUM_FOLLOWER:
            leads = snapshot.active_controller
            return {node.id for node in snapshot.nodes if node.is_controller and leads not in (None, node.id)}
        case Target.BROKER:
            return {node.id for node in snapshot.nodes if node.is_broker}
        case Target.RANDOM:
            return {node.id for node in snapshot.nodes}
