"""Questions to one node over one socket, answered within a deadline or not at all.

Clients hide what an observer wants to see: they ask another node, retry, cache.  Here one request goes to
the node that was named, and its answer comes back or a `WireError` does.  Kafka-python's protocol classes
encode and decode; versions are negotiated by ApiVersions once per connection, so a node that was restarted
with another version is asked again.
"""

import base64
import socket
import struct
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

import msgspec
from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse
from kafka.protocol.admin.topics import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)

API_VERSIONS_VERSION = 3
"""Every broker from 3.6 on knows it, and it is the first that tells of finalized features."""
METADATA_TOPIC = "__cluster_metadata"
FRAME_BYTES_MAX = 64 * 1024 * 1024
CLIENT_ID = "krucible-observer"

T = TypeVar("T")


class WireError(Exception):
    """The node did not answer: refused, silent past the deadline, hung up, or not to be understood."""


class Replica(msgspec.Struct, frozen=True, array_like=True):
    """What the quorum's leader knows of a replica; -1 where it knows nothing, times in wall-clock ms."""

    id: int
    directory_id: str | None
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class QuorumAnswer(msgspec.Struct, frozen=True):
    """A controller's answer to DescribeQuorum.

    Attributes:
        error: Kafka's code; 0 only from a node that believes itself the leader.
        leader_id: itself, where `error` is 0.
        leader_epoch: its epoch.
        high_watermark: -1 until something is committed in this epoch.
        voters: the voters, as it knows them.
        observers: everyone else who fetched lately.
    """

    error: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]


class PartitionAnswer(msgspec.Struct, frozen=True, array_like=True):
    """One partition as a broker sees it; leader -1 where none, elr None where the broker does not tell."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None


class TopicAnswer(msgspec.Struct, frozen=True):
    """One topic as a broker sees it; `error` is Kafka's code, 3 where it knows no such topic."""

    name: str
    topic_id: str
    error: int
    partitions: tuple[PartitionAnswer, ...]


class ClusterAnswer(msgspec.Struct, frozen=True):
    """A broker's view of the cluster.

    Attributes:
        cluster_id: the cluster's id.
        brokers: ids of the brokers that it believes registered and unfenced.
        topics: by name; what was asked for, or all.
    """

    cluster_id: str | None
    brokers: frozenset[int]
    topics: dict[str, TopicAnswer]


class Connection:
    """One socket to one node; requests go one at a time.

    Args:
        host: address of the listener.
        port: its port.
        timeout_s: for connecting, and again for every question.

    Raises:
        WireError: it can't be connected, or does not answer to ApiVersions.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._allowed_until: float | None = None
        self._correlation = 0
        self._deadline = time.monotonic() + timeout_s
        try:
            self._socket = socket.create_connection((host, port), timeout_s)
        except OSError as error:
            raise WireError(f"{host}:{port}: {error}") from error
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._hello()
        except (WireError, OSError):
            self.close()
            raise

    def _hello(self) -> None:
        request = ApiVersionsRequest(client_software_name="krucible", client_software_version="1")
        answer = self._exchange(request, ApiVersionsResponse, API_VERSIONS_VERSION)
        if answer.error_code:
            raise WireError(f"ApiVersions answered error {answer.error_code}")
        self.versions: dict[int, tuple[int, int]] = {
            api.api_key: (api.min_version, api.max_version) for api in answer.api_keys
        }
        self.features: dict[str, int] = {
            feature.name: feature.max_version_level for feature in answer.finalized_features or ()
        }

    def supports(self, request_type: Any) -> bool:
        """Whether node and library have a version of this request in common."""
        return self._common_version(request_type) is not None

    @property
    def source_port(self) -> int:
        """Our end of the connection."""
        port: int = self._socket.getsockname()[1]
        return port

    def ask(self, request: Any, response_type: Any, at_most: int | None = None) -> Any:
        """Send one request in the newest common version and wait for its answer.

        Args:
            request: the request.
            response_type: how its answer is decoded.
            at_most: a version that is not to be exceeded: what a client of that age would send.

        Raises:
            WireError: no answer within the timeout, or no common version.
        """
        version = self._common_version(type(request), at_most)
        if version is None:
            raise WireError(f"{request.name}: no version in common, node has {self.versions}")
        self._deadline = self._allowed_until or time.monotonic() + self._timeout_s
        return self._exchange(request, response_type, version)

    def allow_until(self, deadline_s: float) -> None:
        """Let all questions from now on end by this time of the monotonic clock, however many they are."""
        self._allowed_until = deadline_s

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _common_version(self, request_type: Any, at_most: int | None = None) -> int | None:
        lowest, highest = self.versions.get(request_type.API_KEY, (0, -1))
        version: int = min(highest, request_type.max_version)
        version = version if at_most is None else min(version, at_most)
        return version if version >= lowest else None

    def _exchange(self, request: Any, response_type: Any, version: int) -> Any:
        self._correlation += 1
        request.API_VERSION = version
        request.with_header(correlation_id=self._correlation, client_id=CLIENT_ID)
        try:
            self._limit()
            self._socket.sendall(request.encode(framed=True, header=True))
            (size,) = struct.unpack(">i", self._receive(4))
            if not 0 < size <= FRAME_BYTES_MAX:
                raise WireError(f"a frame of {size} bytes")
            answer = response_type.decode(self._receive(size), version=version, header=True)
        except OSError as error:
            raise WireError(f"{request.name}: {error}") from error
        except (ValueError, IndexError, TypeError, struct.error) as error:
            raise WireError(f"{request.name}: an answer that can't be decoded: {error!r}") from error
        if answer.header.correlation_id != self._correlation:
            raise WireError(f"answer {answer.header.correlation_id} to request {self._correlation}")
        return answer

    def _limit(self) -> None:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left_s)

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            self._limit()
            part = self._socket.recv(min(size - len(parts), 1 << 18))
            if not part:
                raise WireError(f"the node hung up after {len(parts)} of {size} bytes")
            parts += part
        return bytes(parts)


class Endpoint:
    """One listener of one node, asked again and again over one connection that is renewed as needed.

    Not for sharing between threads.

    Args:
        host: address of the listener.
        port: its port.
        timeout_s: for every question, with connecting where that is needed.
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
            elr: ask for eligible leader replicas too, where the broker can tell (3.8 and newer).

        Raises:
            WireError: no answer.
        """
        names = None if topics is None else tuple(topics)
        return self.ask(lambda connection: _cluster(connection, names, elr=elr))

    def features(self) -> dict[str, int]:
        """Finalized feature levels by name, as the node knows them now.

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
        """Ask, or raise `WireError`; what broke while idle is renewed once, a silent node not asked twice."""
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


def answers(host: str, port: int, timeout_s: float) -> bool:
    """Whether a node is alive: it accepts and answers to ApiVersions (a paused one only accepts)."""
    try:
        Connection(host, port, timeout_s).close()
    except WireError:
        return False
    return True


def kafka_uuid(value: UUID | None) -> str | None:
    """A UUID as Kafka writes it (22 characters of URL-safe base64), None for none and for zero."""
    if value is None or value.int == 0:
        return None
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


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


def replica_of(state: Any) -> Replica:
    """A replica in an answer to DescribeQuorum."""
    return Replica(
        state.replica_id,
        kafka_uuid(state.replica_directory_id),
        state.log_end_offset,
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
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
