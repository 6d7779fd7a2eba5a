"""Types for nodes' answers about the quorum, brokers, topics and reassignments."""

import base64
from typing import Protocol
from uuid import UUID

import msgspec

from checkers.history.observed import PartitionAnswer
from checkers.history.quorum import ReplicaState

Place = tuple[str, int]
"""A partition: its topic and number."""


class QuorumAnswer(msgspec.Struct, frozen=True):
    """A controller's answer to DescribeQuorum.

    Attributes:
        error: Kafka's error code; 0 only from a node that believes that it is the leader.
        leader_id: id of the leader; the node's own id if `error` is 0.
        leader_epoch: the leader's epoch.
        high_watermark: the high watermark; -1 until something is committed in this epoch.
        voters: the voters that it knows.
        observers: all other nodes that fetched recently.
    """

    error: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]


class TopicAnswer(msgspec.Struct, frozen=True):
    """One topic as a broker sees it; `error` is Kafka's error code, 3 if it does not know the topic."""

    name: str
    topic_id: str
    error: int
    partitions: tuple[PartitionAnswer, ...]


class Ongoing(msgspec.Struct, frozen=True, order=True):
    """An ongoing reassignment.

    Attributes:
        topic: its name.
        partition: its number.
        replicas: the current ones: those wanted, in their order, then those being removed.
        adding: those of them that are not yet in sync.
        removing: those of them that are removed when it completes.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that will remain."""
        return tuple(replica for replica in self.replicas if replica not in self.removing)

    @property
    def place(self) -> Place:
        """The partition that it moves."""
        return self.topic, self.partition


class ClusterAnswer(msgspec.Struct, frozen=True):
    """A broker's view of the cluster.

    Attributes:
        cluster_id: the cluster's id.
        brokers: ids of the brokers that are registered and unfenced, as far as it knows.
        topics: the requested topics, or all, by name.
    """

    cluster_id: str | None
    brokers: frozenset[int]
    topics: dict[str, TopicAnswer]


def kafka_uuid(value: UUID | None) -> str | None:
    """A UUID as Kafka writes it (22 characters of URL-safe base64), None if it is absent or zero."""
    if value is None or value.int == 0:
        return None
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


class DescribedReplica(Protocol):
    """The part of a replica's entry in an answer to DescribeQuorum that is read."""

    replica_id: int
    replica_directory_id: UUID | None
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


def replica_of(state: DescribedReplica) -> ReplicaState:
    """A replica in an answer to DescribeQuorum."""
    return ReplicaState(
        state.replica_id,
        kafka_uuid(state.replica_directory_id),
        state.log_end_offset,
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
    )
