"""A connection to one node for requests about the quorum and topics; it reconnects after errors."""

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse
from kafka.protocol.admin.topics import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kafka.protocol.metadata import (
    MetadataRequest,
    MetadataResponse,
)

from checkers.history.observed import PartitionAnswer
from harness.kafka.answers import ClusterAnswer, QuorumAnswer, TopicAnswer, kafka_uuid, replica_of
from harness.kafka.wire import METADATA_TOPIC, Connection, WireError

T = TypeVar("T")


class Endpoint:
    """One listener of one node; all requests share one connection, which is renewed as needed.

    Threads must not share it.

    Args:
        host: address of the listener.
        port: its port.
        timeout_s: for every request, including a new connection.
    """

    def __init__(self, host: str, port: int, timeout_s: float = 1.5) -> None:
        self.host = host
        self.port = port
        self.timeout_s = timeout_s
        self._connection: Connection | None = None

    def quorum(self) -> QuorumAnswer:
        """DescribeQuorum of a controller's listener; only the leader's own answer has `error` 0.

        Raises:
            WireError: no answer.
        """
        return self.ask(_quorum)

    def cluster(self, topics: Iterable[str] | None = None, *, elr: bool = False) -> ClusterAnswer:
        """Metadata of a broker's listener.

        Args:
            topics: names, or None for all.
            elr: request eligible leader replicas too, if the broker can report them (3.8 and newer).

        Raises:
            WireError: no answer.
        """
        names = None if topics is None else tuple(topics)
        return self.ask(lambda connection: _cluster(connection, names, elr=elr))

    def features(self) -> dict[str, int]:
        """Finalized feature levels by name, as the node currently knows them.

        Raises:
            WireError: no answer.
        """
        self.close()
        return self.ask(lambda connection: connection.features)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, question: Callable[[Connection], T]) -> T:
        """Ask, or raise `WireError`; renews a broken connection once, but asks a silent node only once."""
        deadline_s = time.monotonic() + self.timeout_s
        if self._connection is not None:
            try:
                return self._put(question, deadline_s)
            except WireError:
                if deadline_s - time.monotonic() < self.timeout_s / 2:
                    raise
        return self._put(question, deadline_s)

    def _put(self, question: Callable[[Connection], T], deadline_s: float) -> T:
        try:
            if self._connection is None:
                left_s = max(0.001, deadline_s - time.monotonic())
                self._connection = Connection(self.host, self.port, left_s)
            self._connection.allow_until(deadline_s)
            return question(self._connection)
        except WireError:
            self.close()
            raise


def _quorum(connection: Connection) -> QuorumAnswer:
    topic = DescribeQuorumRequest.TopicData
    partitions = [topic.PartitionData(partition_index=0)]
    request = DescribeQuorumRequest(topics=[topic(topic_name=METADATA_TOPIC, partitions=partitions)])
    answer = connection.ask(request, DescribeQuorumResponse)
    if answer.error_code or not answer.topics:
        return QuorumAnswer(answer.error_code or -1, -1, -1, -1, (), ())
    state = answer.topics[0].partitions[0]
    return QuorumAnswer(
        state.error_code,
        state.leader_id,
        state.leader_epoch,
        state.high_watermark,
        tuple(map(replica_of, state.current_voters)),
        tuple(map(replica_of, state.observers)),
    )


def _cluster(connection: Connection, names: tuple[str, ...] | None, *, elr: bool) -> ClusterAnswer:
    wanted = None if names is None else [MetadataRequest.MetadataRequestTopic(name=n) for n in names]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    answer = connection.ask(request, MetadataResponse)
    eligible: dict[tuple[str, int], tuple[int, ...]] = {}
    found = [topic.name for topic in answer.topics if not topic.error_code]
    if elr and found and connection.supports(DescribeTopicPartitionsRequest):
        eligible = _eligible(connection, found)
    return ClusterAnswer(
        answer.cluster_id,
        frozenset(broker.node_id for broker in answer.brokers),
        {topic.name: _topic(topic, eligible) for topic in answer.topics},
    )


def _topic(topic: Any, eligible: dict[tuple[str, int], tuple[int, ...]]) -> TopicAnswer:
    partitions = (
        PartitionAnswer(
            state.partition_index,
            state.leader_id,
            state.leader_epoch,
            tuple(state.replica_nodes),
            tuple(state.isr_nodes),
            eligible.get((topic.name, state.partition_index)),
        )
        for state in topic.partitions
    )
    ordered = tuple(sorted(partitions, key=lambda state: state.partition))
    return TopicAnswer(topic.name, kafka_uuid(topic.topic_id) or "", topic.error_code, ordered)


def _eligible(connection: Connection, names: list[str]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Eligible leader replicas by (topic, partition), following the cursor to the end."""
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    topics = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in sorted(names)]
    cursor = None
    while True:
        request = DescribeTopicPartitionsRequest(topics=topics, cursor=cursor)
        answer = connection.ask(request, DescribeTopicPartitionsResponse)
        for topic in answer.topics:
            for state in topic.partitions:
                if state.eligible_leader_replicas is not None:
                    found[topic.name, state.partition_index] = tuple(state.eligible_leader_replicas)
        if answer.next_cursor is None:
            return found
        follow = answer.next_cursor
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=follow.topic_name, partition_index=follow.partition_index
        )
