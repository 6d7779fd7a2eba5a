"""Transactions by single requests, for scripts that choose the connection of each request.

A library's producer would retry, reorder its requests, or refuse what a script needs: a request that waits
on one connection while later ones overtake it on another.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import msgspec
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)

from harness.clients.raw_batches import ProduceAnswer, RawBatch, append_batches
from harness.kafka.answers import TopicAnswer
from harness.kafka.wire import Connection

_TRANSACTION = 1
_FIND_COORDINATOR_SINGLE = 3


class Protocol(IntEnum):
    """How a client takes part in transactions: ``transaction.version`` 1 or 2 (KIP-890)."""

    V1 = 1
    """AddPartitionsToTxn before the first record; all transactions have the same epoch."""
    V2 = 2
    """Produce adds the partition; every EndTxn increments the epoch."""

    @property
    def produce_version(self) -> int:
        """The newest version of Produce that such a client sends."""
        return 11 if self is Protocol.V1 else 12

    @property
    def end_version(self) -> int:
        """The newest version of EndTxn that such a client sends."""
        return 4 if self is Protocol.V1 else 5


class ProducerState(msgspec.Struct, frozen=True):
    """The identity of a transactional producer.

    Attributes:
        transactional_id: its transactional id.
        producer_id: its producer id.
        epoch: its current epoch.
    """

    transactional_id: str
    producer_id: int
    epoch: int


class EndTxnAnswer(NamedTuple):
    """Answer to an EndTxn: Kafka's error code, and the producer as it is from now on."""

    error: int
    producer: ProducerState


def find_coordinator(connection: Connection, transactional_id: str) -> tuple[int, int]:
    """Error code, and id of the broker that coordinates the transactions of this name."""
    request = FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION)
    answer = connection.ask(request, FindCoordinatorResponse, at_most=_FIND_COORDINATOR_SINGLE)
    return answer.error_code, answer.node_id


def init_producer(
    connection: Connection, transactional_id: str, timeout_ms: int, *, raising: ProducerState | None = None
) -> tuple[int, ProducerState]:
    """Error code, and the new instance, which fences every older one.

    Args:
        connection: to the coordinator.
        transactional_id: the transactional id.
        timeout_ms: timeout of the new instance's transactions.
        raising: the instance that asks to raise its epoch (KIP-360); None for one that begins.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=-1 if raising is None else raising.producer_id,
        producer_epoch=-1 if raising is None else raising.epoch,
    )
    answer = connection.ask(request, InitProducerIdResponse, at_most=5)
    return answer.error_code, ProducerState(transactional_id, answer.producer_id, answer.producer_epoch)


def add_partitions(
    connection: Connection, producer: ProducerState, topic: str, partitions: Sequence[int]
) -> list[int]:
    """Error codes of the partitions, in their order; what clients of version 1 do."""
    adding = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=producer.transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[adding],
    )
    answer = connection.ask(request, AddPartitionsToTxnResponse, at_most=3)
    results = answer.results_by_topic_v3_and_below[0].results_by_partition
    codes = {result.partition_index: result.partition_error_code for result in results}
    return [codes[partition] for partition in partitions]


def produce(
    connection: Connection,
    producer: ProducerState,
    topic: TopicAnswer,
    partition: int,
    *,
    sequence: int,
    value: bytes,
    protocol: Protocol,
) -> ProduceAnswer:
    """Append one record within the transaction, with acks=all."""
    found = produce_all(connection, producer, topic, {partition: (sequence, value)}, protocol=protocol)
    return found[partition]


def produce_all(
    connection: Connection,
    producer: ProducerState,
    topic: TopicAnswer,
    records: Mapping[int, tuple[int, bytes]],
    *,
    protocol: Protocol,
) -> dict[int, ProduceAnswer]:
    """Append one record to each of several partitions in one request; sequence and value by partition."""
    batches = {
        partition: RawBatch(producer.producer_id, producer.epoch, sequence, value, producer.transactional_id)
        for partition, (sequence, value) in records.items()
    }
    return append_batches(connection, topic, batches, at_most=protocol.produce_version)


def end_transaction(
    connection: Connection, producer: ProducerState, *, commit: bool, protocol: Protocol
) -> EndTxnAnswer:
    """Commit or abort."""
    request = EndTxnRequest(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=commit,
    )
    answer = connection.ask(request, EndTxnResponse, at_most=protocol.end_version)
    if answer.error_code or protocol is Protocol.V1:
        return EndTxnAnswer(answer.error_code, producer)
    raised = msgspec.structs.replace(producer, producer_id=answer.producer_id, epoch=answer.producer_epoch)
    return EndTxnAnswer(0, raised)
