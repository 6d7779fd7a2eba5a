"""Descriptions of transactions by coordinators and leaders (KIP-664), and markers that an admin writes.

Each is one request over one connection, so that the answer comes from a known node.
"""

from typing import NamedTuple

from kafka.protocol.admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka.protocol.producer import WriteTxnMarkersRequest, WriteTxnMarkersResponse

from harness.clients.raw_transactions import ProducerState
from harness.kafka.wire import Connection

NO_OFFSET = -1
"""The start offset if a producer has no open transaction."""


class TransactionView(NamedTuple):
    """A coordinator's answer.

    Attributes:
        error: Kafka's code.
        state: Kafka's name of the state, such as ``Ongoing``.
        producer_id: id of its producer.
        epoch: epoch of its producer.
        partitions: topics and partitions of it that have no marker yet.
    """

    error: int
    state: str
    producer_id: int
    epoch: int
    partitions: list[tuple[str, int]]


class ProducerView(NamedTuple):
    """A leader's answer.

    Attributes:
        error: Kafka's code.
        known: whether the leader knows the producer; otherwise the following fields have no meaning.
        epoch: epoch of the producer.
        coordinator_epoch: coordinator epoch of its last marker, -1 if there is none.
        start_offset: first offset of its open transaction, `NO_OFFSET` if none is open.
    """

    error: int
    known: bool = False
    epoch: int = -1
    coordinator_epoch: int = -1
    start_offset: int = NO_OFFSET


def describe_transaction(connection: Connection, transactional_id: str) -> TransactionView:
    """DescribeTransactions of one transactional id, sent to its coordinator.

    Raises:
        WireError: no answer.
    """
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    told = connection.ask(request, DescribeTransactionsResponse).transaction_states[0]
    where = [(each.topic, number) for each in told.topics for number in each.partitions]
    return TransactionView(
        told.error_code, told.transaction_state, told.producer_id, told.producer_epoch, sorted(where)
    )


def describe_producer(
    connection: Connection, topic: str, partition: int, producer: ProducerState
) -> ProducerView:
    """DescribeProducers of one partition, sent to its leader; returns the entry of one producer.

    Raises:
        WireError: no answer.
    """
    asked = DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[partition])
    answer = connection.ask(DescribeProducersRequest(topics=[asked]), DescribeProducersResponse)
    told = answer.topics[0].partitions[0]
    for each in told.active_producers:
        if each.producer_id == producer.producer_id:
            return ProducerView(
                told.error_code,
                known=True,
                epoch=each.producer_epoch,
                coordinator_epoch=each.coordinator_epoch,
                start_offset=each.current_txn_start_offset,
            )
    return ProducerView(told.error_code)


def abort_in_partition(
    connection: Connection, topic: str, partition: int, producer: ProducerState, coordinator_epoch: int
) -> int:
    """Write an abort marker into one partition, as ``kafka-transactions.sh abort`` does; returns the code.

    The coordinator is not informed: this is for transactions that no producer will end.

    Raises:
        WireError: no answer.
    """
    marker = WriteTxnMarkersRequest.WritableTxnMarker
    where = marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])
    wanted = marker(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        transaction_result=False,
        topics=[where],
        coordinator_epoch=max(0, coordinator_epoch),
    )
    # Later versions have a field for the transaction version, which admin clients do not set (KIP-890).
    answer = connection.ask(WriteTxnMarkersRequest(markers=[wanted]), WriteTxnMarkersResponse, at_most=1)
    code: int = answer.markers[0].topics[0].partitions[0].error_code
    return code
