"""Batches of idempotent producers, by single requests with any producer epoch and sequence number.

A library chooses both by itself, and never sends a batch with an old epoch.
"""

import base64
import time
import uuid
from collections.abc import Mapping
from typing import NamedTuple

from kafka.protocol.producer import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafka.record import MemoryRecordsBuilder

from harness.kafka.answers import TopicAnswer
from harness.kafka.wire import Connection

_TIMEOUT_MS = 5_000


class RawBatch(NamedTuple):
    """A batch of one record.

    Attributes:
        producer_id: Kafka's number for its producer.
        epoch: the producer's epoch.
        sequence: the record's sequence number.
        value: the record's value.
        transactional_id: transactional id of the record's transaction; None: it belongs to none.
    """

    producer_id: int
    epoch: int
    sequence: int
    value: bytes
    transactional_id: str | None = None


class ProduceAnswer(NamedTuple):
    """Answer to a Produce: Kafka's error code, and the offset if the code is 0."""

    error: int
    offset: int | None


def request_producer_id(connection: Connection) -> tuple[int, int]:
    """Error code, and a new producer id without a transactional id; its first epoch is 0.

    Raises:
        WireError: no answer.
    """
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=0, producer_id=-1, producer_epoch=-1
    )
    answer = connection.ask(request, InitProducerIdResponse, at_most=5)
    return answer.error_code, answer.producer_id


def append_batch(
    connection: Connection, topic: TopicAnswer, partition: int, batch: RawBatch, at_most: int | None = None
) -> ProduceAnswer:
    """Send a batch once, with acks=all, and wait for the answer.

    Args:
        connection: to the leader of the partition.
        topic: the topic, as a broker reports it.
        partition: number of the partition.
        batch: the batch.
        at_most: the newest version of Produce that may be used; None: any.

    Raises:
        WireError: no answer, so the batch may have been appended.
    """
    return append_batches(connection, topic, {partition: batch}, at_most)[partition]


def append_batches(
    connection: Connection, topic: TopicAnswer, batches: Mapping[int, RawBatch], at_most: int | None = None
) -> dict[int, ProduceAnswer]:
    """Send one batch to each of several partitions in one request; as `append_batch`, by partition.

    All batches have the transactional id of the first one.

    Raises:
        WireError: no answer, so the batches may have been appended.
    """
    data = ProduceRequest.TopicProduceData
    parts = [data.PartitionProduceData(index=p, records=_encoded(batch)) for p, batch in batches.items()]
    topic_id = uuid.UUID(bytes=base64.urlsafe_b64decode(topic.topic_id + "=="))
    request = ProduceRequest(
        transactional_id=next(iter(batches.values())).transactional_id,
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[data(name=topic.name, topic_id=topic_id, partition_data=parts)],
    )
    answer = connection.ask(request, ProduceResponse, at_most=at_most)
    return {
        one.index: ProduceAnswer(one.error_code, None if one.error_code else one.base_offset)
        for one in answer.responses[0].partition_responses
    }


def _encoded(batch: RawBatch) -> bytes:
    builder = MemoryRecordsBuilder(
        magic=2,
        compression_type=0,
        batch_size=4096,
        transactional=batch.transactional_id is not None,
        producer_id=batch.producer_id,
        producer_epoch=batch.epoch,
        base_sequence=batch.sequence,
    )
    builder.append(timestamp=int(time.time() * 1000), key=None, value=batch.value)
    builder.close()
    return bytes(builder.buffer())
