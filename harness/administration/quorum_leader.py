"""Finds the leader of the quorum and reads its description (DescribeQuorum, KIP-595, KIP-836, KIP-853)."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import msgspec
from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kafka.protocol.metadata import MetadataRequest

from checkers.history.quorum import ReplicaState
from harness.administration.voters import VoterEndpoint
from harness.kafka.answers import replica_of
from harness.kafka.wire import METADATA_TOPIC, Connection, WireError

NOT_LEADER_OR_FOLLOWER = 6
_ROUND_S, _ROUND_MIN_S = 2.0, 0.5
"""Time limit of one round of requests, and the minimum limit of the last round."""
_PAUSE_S = 0.05
_BROKERS, _CONTROLLERS = 1, 2
"""Kafka's types of endpoints (KIP-919)."""

Address = tuple[str, int]


class _Listener(Protocol):
    """A listener of a voter in an answer to DescribeQuorum."""

    name: str
    host: str
    port: int


class QuorumAnswer(msgspec.Struct, frozen=True):
    """One node's answer to DescribeQuorum.

    Attributes:
        error: Kafka's error code; among controllers, only the leader answers with 0.
        leader_id: the leader's id; -1 if the node does not know it.
        leader_epoch: the leader's epoch.
        high_watermark: the high watermark; -1 until something is committed in this epoch.
        voters: the voters according to the leader.
        observers: all other nodes that fetched within the last five minutes.
        endpoints: endpoints of voters, by id; empty from versions before 3.9.
        cluster_id: None if the node does not report it.
        controllers: every registered controller's address by id; None from brokers and before 3.7.
        kraft_version: the finalized level; None if the node reports none.
    """

    error: int
    leader_id: int = -1
    leader_epoch: int = -1
    high_watermark: int = -1
    voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()
    endpoints: dict[int, tuple[VoterEndpoint, ...]] = {}
    cluster_id: str | None = None
    controllers: dict[int, Address] | None = None
    kraft_version: int | None = None


def describe_quorum(address: Address, timeout_ms: int) -> QuorumAnswer:
    """Ask one node; a broker forwards the request to the leader, and does not answer while there is none.

    Raises:
        WireError: no answer.
    """
    deadline_s = time.monotonic() + timeout_ms / 1000
    with Connection(*address, timeout_ms / 1000) as connection:
        connection.allow_until(deadline_s)
        topic = DescribeQuorumRequest.TopicData
        partitions = [topic.PartitionData(partition_index=0)]
        request = DescribeQuorumRequest(topics=[topic(topic_name=METADATA_TOPIC, partitions=partitions)])
        answer = connection.ask(request, DescribeQuorumResponse)
        cluster_id, controllers = _cluster(connection)
        if answer.error_code or not answer.topics:
            return QuorumAnswer(answer.error_code or -1, controllers=controllers)
        state = answer.topics[0].partitions[0]
        return QuorumAnswer(
            error=state.error_code,
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            high_watermark=state.high_watermark,
            voters=tuple(map(replica_of, state.current_voters)),
            observers=tuple(map(replica_of, state.observers)),
            endpoints={node.node_id: _endpoints(node.listeners) for node in answer.nodes or ()},
            cluster_id=cluster_id,
            controllers=controllers,
            kraft_version=connection.features.get("kraft.version"),
        )


class FoundLeader(NamedTuple):
    """The leader of the quorum, and its answer."""

    address: Address
    answer: QuorumAnswer


def find_leader(
    addresses: Sequence[Address], bound_ms: int, ask: Callable[[Address, int], QuorumAnswer] = describe_quorum
) -> FoundLeader | dict[Address, str]:
    """Ask all given nodes, and the controllers that they report, until the leader answers.

    Returns:
        The leader and its answer, with the highest epoch if several nodes claim to lead; or, if none answered
            within the bound, the last answer of each.
    """
    deadline = time.monotonic() + bound_ms / 1000
    known = list(addresses)
    while True:
        round_s = min(_ROUND_S, max(_ROUND_MIN_S, deadline - time.monotonic()))
        replies = _describe_all(known, round(round_s * 1000), ask)
        answers = {address: each for address, each in replies.items() if isinstance(each, QuorumAnswer)}
        leading = [FoundLeader(*each) for each in answers.items() if each[1].error == 0]
        if leading:
            return max(leading, key=lambda found: found.answer.leader_epoch)
        if time.monotonic() >= deadline:
            return {address: _words(each) for address, each in replies.items()}
        more = {place for each in answers.values() for place in (each.controllers or {}).values()}
        known += sorted(more - set(known))
        time.sleep(_PAUSE_S)


def _describe_all(
    addresses: Sequence[Address], timeout_ms: int, ask: Callable[[Address, int], QuorumAnswer]
) -> dict[Address, QuorumAnswer | str]:
    """Ask all at once; errors are returned as texts."""

    def one(address: Address) -> QuorumAnswer | str:
        try:
            return ask(address, timeout_ms)
        except WireError as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=max(1, len(addresses))) as pool:
        return dict(zip(addresses, pool.map(one, addresses), strict=True))


def _words(reply: QuorumAnswer | str) -> str:
    if isinstance(reply, str):
        return reply
    return "it is not the leader" if reply.error == NOT_LEADER_OR_FOLLOWER else f"error {reply.error}"


def _cluster(connection: Connection) -> tuple[str | None, dict[int, Address] | None]:
    """The cluster's id; a controller of 3.7 or newer also reports all controllers' addresses (KIP-919)."""
    if not connection.supports(DescribeClusterRequest):
        return None, None
    is_broker = connection.supports(MetadataRequest)
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=_BROKERS if is_broker else _CONTROLLERS,
        include_fenced_brokers=False,
    )
    answer = connection.ask(request, DescribeClusterResponse)
    if answer.error_code:
        return None, None
    places = {node.broker_id: (node.host, node.port) for node in answer.brokers}
    return answer.cluster_id, None if is_broker else places


def _endpoints(listeners: Iterable[_Listener]) -> tuple[VoterEndpoint, ...]:
    return tuple((listener.name, listener.host, listener.port) for listener in listeners)
