"""Single records of topics that are created and deleted, appended and fetched by one request each.

A library finds a topic by its name, whichever topic has it.  Here requests have the id from the answer to the
topic's creation, so only records of this topic are returned (KIP-516).
"""

import base64
import time
import uuid
from typing import Any, NamedTuple

from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse
from kafka.record import MemoryRecords, MemoryRecordsBuilder

from harness.kafka.wire import Connection, WireError

_TIMEOUT_MS = 1_000
_BY_ID, _FETCH_VERSION_MAX = 13, 16
"""Versions of Fetch: the first with topic ids, and the last that is unchanged for consumers."""
_BYTES_MAX = 1 << 20
_SESSIONLESS = -1


class ProduceAnswer(NamedTuple):
    """Answer to a Produce: Kafka's error code, and the offset if the code is 0."""

    error: int
    offset: int | None


class Fetched(NamedTuple):
    """Answer to a Fetch.

    Attributes:
        error: Kafka's code.
        log_start: the log's first offset.
        records: offsets and values.
    """

    error: int
    log_start: int
    records: list[tuple[int, bytes | None]]


def leader_of(connection: Connection, topic: str) -> tuple[str, int]:
    """Address of the leader of a topic's first partition, according to one broker.

    Raises:
        WireError: no answer, or the broker knows no leader.
    """
    wanted = [MetadataRequest.MetadataRequestTopic(name=topic)]
    answer = connection.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse)
    states = (state for each in answer.topics for state in each.partitions)
    leaders = [state.leader_id for state in states if state.partition_index == 0]
    for broker in answer.brokers:
        if broker.node_id in leaders:
            return broker.host, broker.port
    raise WireError(f"{topic} has no leader")


def append_record(connection: Connection, topic: str, topic_id: str, value: bytes) -> ProduceAnswer:
    """Append one record to the first partition, with acks=all, in one request; by id if the broker can.

    Raises:
        WireError: no answer.
    """
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=4096)
    builder.append(timestamp=int(time.time() * 1000), key=None, value=value)
    builder.close()
    data = ProduceRequest.TopicProduceData
    parts = [data.PartitionProduceData(index=0, records=bytes(builder.buffer()))]
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[data(name=topic, topic_id=_uuid(topic_id), partition_data=parts)],
    )
    answer = connection.ask(request, ProduceResponse)
    result = answer.responses[0].partition_responses[0]
    return ProduceAnswer(result.error_code, None if result.error_code else result.base_offset)


def fetch_request(partition: int, offset: int, **topic: Any) -> FetchRequest:
    """A request for records of one partition, read_uncommitted and without a session.

    Args:
        partition: the partition.
        offset: the first offset.
        topic: ``topic``, the topic's name, or ``topic_id``, its id.
    """
    wanted = FetchRequest.FetchTopic
    place = wanted.FetchPartition(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=_BYTES_MAX,
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_BYTES_MAX,
        isolation_level=0,
        session_id=0,
        session_epoch=_SESSIONLESS,
        topics=[wanted(**topic, partitions=[place])],
        forgotten_topics_data=[],
        rack_id="",
    )


def fetch_records(connection: Connection, topic_id: str) -> Fetched:
    """Fetch all of the first partition of a topic, by its id.

    Raises:
        WireError: no answer, or the broker supports only names of topics.
    """
    if connection.versions.get(FetchRequest.API_KEY, (0, 0))[1] < _BY_ID:
        raise WireError("the broker fetches by names alone")
    request = fetch_request(0, 0, topic_id=_uuid(topic_id))
    answer = connection.ask(request, FetchResponse, at_most=_FETCH_VERSION_MAX)
    if answer.error_code or not answer.responses:
        return Fetched(answer.error_code or -1, -1, [])
    state = answer.responses[0].partitions[0]
    return Fetched(state.error_code, state.log_start_offset, _records(state.records or b""))


def _records(data: bytes) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    batches = MemoryRecords(data)
    while batches.has_next():
        found += [(record.offset, record.value) for record in batches.next_batch()]
    return found


def _uuid(topic_id: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))
