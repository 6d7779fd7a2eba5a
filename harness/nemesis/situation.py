"""What is known of the cluster when an admin operation is to be performed, or a condition is awaited."""

import msgspec

from harness.administration.reassignments import Ongoing
from harness.kafka.answers import PartitionAnswer, QuorumAnswer
from harness.vocabulary.administration import Member
from harness.vocabulary.topology import Node


class TopicSize(msgspec.Struct, frozen=True):
    """A topic, how many partitions it was made with, and how many it has as far as anybody told."""

    name: str
    made_with: int
    now: int


class Situation(msgspec.Struct, frozen=True):
    """The cluster at one moment, as its nodes told it lately.

    Attributes:
        nodes: all nodes.
        down: names of nodes whose process a fault holds.
        partitions: the workload's partitions that a broker told of, by topic and number.
        quorum: the answer of the quorum's leader, None if none is seen.
        ongoing: reassignments that go on, None if nobody told.
        loaded: the workload's first topic, None if nothing is known of it.
    """

    nodes: tuple[Node, ...]
    down: frozenset[str]
    partitions: dict[tuple[str, int], PartitionAnswer]
    quorum: QuorumAnswer | None
    ongoing: tuple[Ongoing, ...] | None = None
    loaded: TopicSize | None = None

    def node(self, member: Member) -> Node:
        """The node that a scenario means.

        Raises:
            LookupError: the topology has no such node.
        """
        found = member.of(self.nodes)
        if found is None:
            raise LookupError(f"there is no {member.role} {member.number}")
        return found

    @property
    def brokers_up(self) -> tuple[int, ...]:
        """Ids of the brokers that no fault holds."""
        return tuple(node.id for node in self.nodes if node.is_broker and node.name not in self.down)
