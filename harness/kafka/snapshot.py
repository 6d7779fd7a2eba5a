"""A snapshot of the cluster: the state that its nodes reported last, for all decisions that need it."""

from collections.abc import Iterable

import msgspec

from checkers.history.observed import PartitionAnswer
from harness.kafka.answers import Ongoing, Place, QuorumAnswer
from harness.kafka.sizes import TopicSize
from harness.vocabulary.administration import Member
from harness.vocabulary.topology import Node


class ClusterSnapshot(msgspec.Struct, frozen=True):
    """The known state of the cluster at one moment.

    Attributes:
        nodes: all nodes.
        reported: partitions as each broker reported them recently, latest first; empty without reports.
        quorum: the answer of the quorum's leader, None without one.
        ongoing: ongoing reassignments, None if unknown.
        topics: the workload's topics, in its order.
        min_insync_replicas: ``min.insync.replicas`` of the workload's partitions.
        down: names of nodes whose process a fault has ended or frozen.
        dead: names of nodes whose process ended by itself; Docker is only asked before a fault.
        held: names of nodes that a fault may not hit, because another fault holds them.
        taken_at_ms: wall-clock time in milliseconds, as in `quorum`.
        answers: number of brokers' answers so far.
        out_of_sync: by topic, partition and replica, the number of the last answer in which a broker reported
            the replica as not in sync.
    """

    nodes: tuple[Node, ...]
    reported: dict[Place, tuple[PartitionAnswer, ...]] = {}
    quorum: QuorumAnswer | None = None
    ongoing: tuple[Ongoing, ...] | None = None
    topics: tuple[TopicSize, ...] = ()
    min_insync_replicas: int = 1
    down: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    taken_at_ms: int = 0
    answers: int = 0
    out_of_sync: dict[tuple[str, int, int], int] = {}

    def holding(self, names: Iterable[str]) -> "ClusterSnapshot":
        """A copy with more nodes that a fault may not hit."""
        return msgspec.structs.replace(self, held=self.held.union(names))

    def node(self, member: Member) -> Node:
        """The node that a scenario names.

        Raises:
            LookupError: the topology has no such node.
        """
        found = member.of(self.nodes)
        if found is None:
            raise LookupError(f"there is no {member.role} {member.number}")
        return found

    @property
    def by_id(self) -> dict[int, Node]:
        """All nodes by their ids."""
        return {node.id: node for node in self.nodes}

    @property
    def up(self) -> dict[int, Node]:
        """Nodes whose process no fault holds, by their ids."""
        return {node.id: node for node in self.nodes if node.name not in self.down}

    @property
    def brokers_up(self) -> tuple[int, ...]:
        """Ids of the brokers whose process no fault holds."""
        return tuple(node.id for node in self.up.values() if node.is_broker)

    @property
    def held_ids(self) -> set[int]:
        """Ids of the nodes that a fault may not hit."""
        return {node.id for node in self.nodes if node.name in self.held}

    @property
    def active_controller(self) -> int | None:
        """Id of the leader of the quorum, None without a known one."""
        return None if self.quorum is None else self.quorum.leader_id

    def partition(self, place: Place | None) -> PartitionAnswer | None:
        """The partition as reported by the broker with the newest leader epoch, None without a report.

        Of several brokers with the same epoch, the first one counts.
        """
        states = () if place is None else self.reported.get(place, ())
        return max(states, key=lambda state: state.leader_epoch, default=None)

    @property
    def partitions(self) -> dict[Place, PartitionAnswer]:
        """The partitions that a broker reported, each as in `partition`."""
        found = ((place, self.partition(place)) for place in self.reported)
        return {place: state for place, state in found if state is not None}

    @property
    def first_topic(self) -> TopicSize | None:
        """The workload's first topic, None if nothing is known of it."""
        return self.topics[0] if self.topics else None

    @property
    def leaders(self) -> tuple[int, ...]:
        """Ids of the leaders of the first topic's partitions, in order; a missing leader is left out."""
        first = self.first_topic
        if first is None:
            return ()
        states = (self.partition(place) for place in first.places)
        return tuple(state.leader for state in states if state is not None and state.leader >= 0)

    def copies_on(self, node: Node) -> frozenset[Place]:
        """Partitions of which the node has, or is to get, a replica according to a broker."""
        return frozenset(
            place for place, states in self.reported.items() if any(node.id in s.replicas for s in states)
        )

    def in_sync(self, place: Place) -> set[int]:
        """Ids of replicas that all brokers report as in sync; an isolated broker may report an old state."""
        isrs = [set(state.isr) for state in self.reported.get(place, ())]
        return set.intersection(*isrs) if isrs else set()

    @property
    def moving(self) -> list[Place] | None:
        """Partitions that are being reassigned, None if unknown."""
        return None if self.ongoing is None else [one.place for one in self.ongoing]
