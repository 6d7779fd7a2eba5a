"""A node on loopback that answers as the test decides, in Kafka's protocol."""

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse
from kafka.protocol.admin.topics import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)

from tests.harness.fakes.patience import NUDGE, time_is_up

if TYPE_CHECKING:
    from collections.abc import Callable

REQUESTS = {
    request.API_KEY: request
    for request in (
        ApiVersionsRequest,
        MetadataRequest,
        DescribeQuorumRequest,
        DescribeTopicPartitionsRequest,
        ListOffsetsRequest,
    )
}
LIST, QUORUM, METADATA, ELR, VERSIONS = 2, 55, 3, 75, 18
NOT_LEADER, UNSUPPORTED_VERSION = 6, 35


class FakeNode:
    """Answers each request by `answers[key](request)`: a response, raw bytes, or None for silence.

    Silence ends the time of our own requests at once (`patience`), and is silence for the libraries of Kafka.

    Attributes:
        requests: classes that decode requests, by key.
        versions: highest version by key, as ApiVersions reports.
        features: finalized levels by name.
        newest_features: highest levels that it supports, by name.
        answers: by request key.
        asked: (key, version) of every request, in order.
        connections: how many there were.
        in_order: whether a request without an answer holds back those after it, as in a real broker.
    """

    def __init__(self) -> None:
        self.versions = {VERSIONS: 3, METADATA: 12, QUORUM: 2, ELR: 0, LIST: 8}
        self.features: dict[str, int] = {}
        self.newest_features: dict[str, int] = {}
        self.answers: dict[int, Callable[[Any], Any]] = {
            VERSIONS: self._api_versions,
            LIST: lambda request: listed(request, lambda _topic, _partition: (NOT_LEADER, -1)),
        }
        self.requests: dict[int, Any] = dict(REQUESTS)
        self.asked: list[tuple[int, int]] = []
        self.connections = 0
        self.in_order = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()
        return host, port

    def hang_up(self) -> None:
        """Break every connection, as a restart does."""
        for connection in self._open:
            with contextlib.suppress(OSError):  # the other side was first
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # macOS: not connected
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(5)
        self.hang_up()
        for thread in self._threads:
            thread.join(5)
        for connection in self._open:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        held = False
        try:
            with connection.makefile("rb") as stream:
                while len(head := stream.read(4)) == 4:
                    (length,) = struct.unpack(">i", head)
                    if len(frame := stream.read(length)) < length:
                        return  # the client hung up in the middle of it
                    reply = self._reply(frame)
                    held |= reply is None and self.in_order
                    if reply is None or held:
                        reply = NUDGE if time_is_up(connection.getpeername()[1]) else b""
                    connection.sendall(reply)
        except OSError:  # the client hung up
            return

    def _reply(self, frame: bytes) -> bytes | None:
        key, version, correlation = struct.unpack(">hhi", frame[:8])
        self.asked.append((key, version))
        if key == VERSIONS and version > ApiVersionsRequest.max_version:
            return encoded(self._refused_versions(), 0, correlation)
        answer = self.answers[key](self.requests[key].decode(frame, version=version, header=True))
        if answer is None or isinstance(answer, bytes):
            return answer
        return encoded(answer, version, correlation)

    def _refused_versions(self) -> Any:
        """What older brokers answer to a newer ApiVersions, in version 0: the newest they have (KIP-511)."""
        api = ApiVersionsResponse.ApiVersion
        newest = api(api_key=VERSIONS, min_version=0, max_version=self.versions[VERSIONS])
        return ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=[newest])

    def _api_versions(self, _request: Any) -> Any:
        feature = ApiVersionsResponse.FinalizedFeatureKey
        api, supported = ApiVersionsResponse.ApiVersion, ApiVersionsResponse.SupportedFeatureKey
        return ApiVersionsResponse(
            error_code=0,
            api_keys=[api(api_key=k, min_version=0, max_version=v) for k, v in self.versions.items()],
            supported_features=[
                supported(name=name, min_version=1, max_version=level)
                for name, level in self.newest_features.items()
            ],
            finalized_features=[
                feature(name=name, max_version_level=level, min_version_level=level)
                for name, level in self.features.items()
            ],
            finalized_features_epoch=1,
        )


def encoded(answer: Any, version: int, correlation: int) -> bytes:
    """A response as it goes over the wire."""
    answer.API_VERSION = version
    answer.with_header(correlation_id=correlation)
    return bytes(answer.encode(header=True, framed=True))


def listed(request: Any, answer_of: "Callable[[str, int], tuple[int, int]]") -> Any:
    """What a broker answers to ListOffsets, given error and offset of each topic's partition."""
    topic = ListOffsetsResponse.ListOffsetsTopicResponse
    return ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            topic(
                name=asked.name,
                partitions=[
                    topic.ListOffsetsPartitionResponse(
                        partition_index=one.partition_index,
                        error_code=error,
                        timestamp=-1,
                        offset=offset,
                        leader_epoch=-1,
                    )
                    for one in asked.partitions
                    for error, offset in [answer_of(asked.name, one.partition_index)]
                ],
            )
            for asked in request.topics
        ],
    )


def quorum_answer(leader: int, epoch: int, hw: int, voters: dict[int, int], error: int = 0) -> Any:
    """What a controller answers to DescribeQuorum; voters: id to log end offset."""
    topic = DescribeQuorumResponse.TopicData
    replica = topic.PartitionData.ReplicaState
    states = [
        replica(
            replica_id=voter,
            replica_directory_id=None,
            log_end_offset=offset,
            last_fetch_timestamp=5,
            last_caught_up_timestamp=6,
        )
        for voter, offset in voters.items()
    ]
    partition = topic.PartitionData(
        partition_index=0,
        error_code=error,
        leader_id=leader,
        leader_epoch=epoch,
        high_watermark=hw,
        current_voters=states,
        observers=[],
    )
    return DescribeQuorumResponse(
        error_code=0, topics=[topic(topic_name="__cluster_metadata", partitions=[partition])], nodes=[]
    )


def metadata_answer(
    brokers: list[int], leaders: list[tuple[int, int]], topic: str = "log-0", error: int = 0
) -> Any:
    """What a broker answers to Metadata; leaders: (leader, epoch) of each partition."""
    one = MetadataResponse.MetadataResponseTopic
    partitions = [
        one.MetadataResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=leader,
            leader_epoch=epoch,
            replica_nodes=brokers,
            isr_nodes=brokers[:2],
            offline_replicas=[],
        )
        for index, (leader, epoch) in enumerate(leaders)
    ]
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=b, host="h", port=1, rack=None) for b in brokers
        ],
        cluster_id="cluster",
        controller_id=1,
        topics=[one(error_code=error, name=topic, topic_id=None, is_internal=False, partitions=partitions)],
    )


def elr_answer(eligible: dict[int, list[int]], topic: str = "log-0", cursor: int | None = None) -> Any:
    """What a broker answers to DescribeTopicPartitions; `cursor`: the next partition to ask for."""
    one = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    partitions = [
        one.DescribeTopicPartitionsResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=1,
            leader_epoch=0,
            replica_nodes=[],
            isr_nodes=[],
            eligible_leader_replicas=replicas,
            last_known_elr=[],
            offline_replicas=[],
        )
        for index, replicas in eligible.items()
    ]
    following = DescribeTopicPartitionsResponse.Cursor
    return DescribeTopicPartitionsResponse(
        throttle_time_ms=0,
        topics=[one(error_code=0, name=topic, topic_id=None, is_internal=False, partitions=partitions)],
        next_cursor=None if cursor is None else following(topic_name=topic, partition_index=cursor),
    )
