"""From a symbolic target to a node, by what the cluster looks like when the fault begins."""

import msgspec

from harness.kafka.answers import PartitionAnswer, QuorumAnswer
from harness.vocabulary.administration import Member
from harness.vocabulary.faults import Target
from harness.vocabulary.topology import Node


class Copies(msgspec.Struct, frozen=True):
    """What is known of who has a copy of what.

    Attributes:
        told: of each of the workload's partitions what every broker told lately, by topic and number.
        least: ``min.insync.replicas`` of those partitions.
        quorum: the answer of the quorum's leader, None if none is seen.
        now_ms: wall-clock time, as in `quorum`.
        moment: how many answers of brokers have been heard.
        out: the answer, by its number, in which a broker last told that a replica is not in sync, by topic,
            partition and replica.
    """

    told: dict[tuple[str, int], tuple[PartitionAnswer, ...]] = {}
    least: int = 1
    quorum: QuorumAnswer | None = None
    now_ms: int = 0
    moment: int = 0
    out: dict[tuple[str, int, int], int] = {}


class Sight(msgspec.Struct, frozen=True):
    """What is known of the cluster at one moment.

    Attributes:
        nodes: all nodes.
        active_controller: id of the leader of the quorum, None if none is seen.
        leaders: ids of the leaders of the workload's partitions, in the order of the partitions.
        down: names of nodes that a process fault holds already.
        copies: who has a copy of what.
        dead: names of nodes whose process ended by itself.
    """

    nodes: tuple[Node, ...]
    active_controller: int | None
    leaders: tuple[int, ...]
    down: frozenset[str] = frozenset()
    copies: Copies = Copies()
    dead: frozenset[str] = frozenset()


class Resolved(msgspec.Struct, frozen=True):
    """A target's node, and how it was found: ``name``, ``role`` or ``fallback`` (nobody had the role)."""

    node: Node
    by: str


def resolve(target: Target | Member, draw: int, sight: Sight) -> Resolved | None:
    """The node that the target means now; None if every node, or the one named, is held by a fault already.

    Where nobody free has the role, any free node stands in, so that a schedule never skips a step; the
    record says so.
    """
    free = [node for node in sight.nodes if node.name not in sight.down]
    if isinstance(target, Member):
        named = target.of(sight.nodes)
        return Resolved(named, by="name") if named in free else None
    if not free:
        return None
    having = [node for node in free if node.id in _ids(target, draw, sight)]
    chosen = having or free
    return Resolved(chosen[draw % len(chosen)], by="role" if having else "fallback")


def roles_of(node: Node, draw: int, sight: Sight) -> tuple[Target, ...]:
    """Every role of the moment that a node has, by the draw of the fault that hits it."""
    return tuple(target for target in Target if node.id in _ids(target, draw, sight))


def _ids(target: Target, draw: int, sight: Sight) -> set[int]:
    match target:
        case Target.ACTIVE_CONTROLLER:
            return set() if sight.active_controller is None else {sight.active_controller}
        case Target.VOTER:
            return {node.id for node in sight.nodes if node.is_controller}
        case Target.PARTITION_LEADER:
            return {sight.leaders[draw % len(sight.leaders)]} if sight.leaders else set()
        case Target.QUORUM_FOLLOWER:
            leads = sight.active_controller
            return {node.id for node in sight.nodes if node.is_controller and leads not in (None, node.id)}
        case Target.BROKER:
            return {node.id for node in sight.nodes if node.is_broker}
        case Target.RANDOM:
            return {node.id for node in sight.nodes}
