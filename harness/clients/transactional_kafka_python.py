"""kafka-python's transactional producer behind the interface.

Version 3.0 waits without a limit for ends of transactions and for offsets, so this module waits instead.
It uses the protocol of transaction.version 1 for EndTxn and TxnOffsetCommit, whatever version the cluster
has.  After an out-of-order sequence it initialises itself again, which a history would not show, so an
instance is abandoned after every error.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.errors import BrokerResponseError, KafkaError, KafkaTimeoutError
from kafka.producer.future import FutureRecordMetadata
from kafka.producer.transaction_manager import EndTxnHandler, TransactionManager
from kafka.structs import OffsetAndMetadata

from checkers.history.operations import OperationType
from checkers.history.units import MS_PER_S
from harness.clients.bounded import within
from harness.clients.errors import ErrorSource
from harness.clients.interface import Message, ReadError, SendResult
from harness.clients.kafka_python import polled_in_group
from harness.clients.kafka_python_making import (
    EndableProducer,
    end_consumer,
    made_client,
    producer_bounds,
    subscribe,
)
from harness.clients.transactional import (
    GroupOffsets,
    GroupOptions,
    Identity,
    TopicRecord,
    TransactionalOptions,
    TransactionError,
)
from harness.clients.transactional_errors import REFUSED, classify_commit
from harness.record.journal import describe

_GRACE_S = 0.5
_VERSION = 1
"""The version of the protocol of all its transactions."""


class KafkaPythonTransactionalProducer:
    """A `TransactionalProducer`.

    Raises:
        ClientFailedError: no broker answered.
    """

    def __init__(self, options: TransactionalOptions) -> None:
        self._options = options
        self._producer = made_client(
            EndableProducer,
            options.bootstrap,
            acks="all",
            enable_idempotence=True,
            transactional_id=options.transactional_id,
            transaction_timeout_ms=options.transaction_timeout_ms,
            **producer_bounds(options.delivery_ms, options.request_ms, options.connect_ms),
        )
        self._manager = self._producer._transaction_manager  # noqa: SLF001 - the public interface does not show this

    def initialise(self, timeout_s: float) -> Identity:
        """As promised by `TransactionalProducer.initialise`."""
        self._bounded(self._manager.initialize_transactions, timeout_s, "InitProducerId")
        known = self._manager.producer_id_and_epoch
        return Identity(known.producer_id, known.epoch)

    def begin(self) -> int:
        """As promised by `TransactionalProducer.begin`."""
        try:
            self._producer.begin_transaction()
        except Exception as error:
            raise TransactionError(describe(error), OperationType.FAIL) from error
        return _VERSION

    def send(self, batch: Sequence[TopicRecord]) -> list[SendResult]:
        """As promised by `TransactionalProducer.send`."""
        deadline = time.monotonic() + self._options.delivery_ms / MS_PER_S + _GRACE_S
        queued = [self._queued(record) for record in batch]
        return [
            one if isinstance(one, SendResult) else _fate(one, deadline - time.monotonic()) for one in queued
        ]

    def send_offsets(self, offsets: GroupOffsets, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.send_offsets`."""
        where = {
            TopicPartition(offsets.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.positions.items()
        }
        self._bounded(
            lambda: self._manager.send_offsets_to_transaction(where, offsets.membership),
            timeout_s,
            "TxnOffsetCommit",
        )

    def commit(self, timeout_s: float) -> None:
        """See `TransactionalProducer.commit`; a refusal is certain if the request was sent once."""
        try:
            # Under its lock no request leaves the queue, so the one just queued is still there.
            with self._manager._lock:  # noqa: SLF001 - the public interface does not show whether a request was sent twice
                result = self._manager.begin_commit()
                ending = _queued_end(self._manager)
        except KafkaError as error:
            raise TransactionError(f"{describe(error)} ({REFUSED})", OperationType.FAIL) from error
        except Exception as error:
            raise TransactionError(describe(error)) from error
        try:
            self._producer._sender.wakeup()  # noqa: SLF001 - as the library's own method does
            _await(result, timeout_s, "EndTxn")
        except Exception as error:
            source, key = _keyed(error)
            outcome, reason = classify_commit(source, key, only_attempt=not ending.is_retry)
            raise TransactionError(f"{describe(error)} ({reason})", outcome) from error

    def abort(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.abort`."""
        self._bounded(self._manager.begin_abort, timeout_s, "EndTxn")

    def close(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.close`."""
        within(timeout_s, "closing kafka-python's transactional producer", self._producer.end)

    def _bounded(self, ask: Any, timeout_s: float, what: str) -> None:
        try:
            result = ask()
            self._producer._sender.wakeup()  # noqa: SLF001 - as the library's own methods do
            _await(result, timeout_s, what)
        except Exception as error:
            raise TransactionError(describe(error)) from error

    def _queued(self, record: TopicRecord) -> FutureRecordMetadata | SendResult:
        sent = record.sent
        try:
            return self._producer.send(
                record.topic,
                value=sent.content,
                key=sent.key,
                partition=sent.partition,
                headers=sent.headers,
            )
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the record's outcome
            return SendResult(OperationType.INFO, error=describe(error))


class KafkaPythonGroupConsumer:
    """A `GroupConsumer`; the library rebalances within its own poll.

    Raises:
        ClientFailedError: no broker answered.
    """

    def __init__(self, options: GroupOptions) -> None:
        self._options = options
        self._consumer = made_client(
            KafkaConsumer,
            options.bootstrap,
            group_id=options.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            request_timeout_ms=options.request_ms,
            session_timeout_ms=options.session_ms,
            heartbeat_interval_ms=options.session_ms // 4,
            max_poll_interval_ms=options.poll_interval_ms,
            fetch_max_wait_ms=250,
            max_poll_records=options.poll_records_max,
            bootstrap_timeout_ms=options.connect_ms,
            allow_auto_create_topics=False,
        )
        subscribe(self._consumer, options.topic, _Forgetful(self._consumer))

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `GroupConsumer.poll`."""
        return polled_in_group(self._consumer, max_wait_s)

    def rewind(self, positions: Mapping[int, int]) -> None:
        """As promised by `GroupConsumer.rewind`."""
        try:
            for partition, offset in positions.items():
                self._consumer.seek(TopicPartition(self._options.topic, partition), offset)
        except Exception as error:
            raise ReadError(describe(error)) from error

    def membership(self) -> object:
        """As promised by `GroupConsumer.membership`."""
        try:
            return self._consumer.group_metadata()
        except Exception as error:
            raise ReadError(describe(error)) from error

    def close(self, timeout_s: float) -> None:
        """As promised by `GroupConsumer.close`."""
        end_consumer(self._consumer, timeout_s, "kafka-python's group consumer")


class _Forgetful(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """Begins every assignment at the group's committed offsets.

    Version 3.0 keeps the positions of partitions that are assigned to it again, even if the group continued
    without it while it joined, and others have copied further records.  Java's eager consumer discards all
    positions.
    """

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Remove the revoked partitions; these are all partitions, because assignments are eager."""
        del revoked
        self._consumer._subscription.assign_from_subscribed([])  # noqa: SLF001 - as the library does for a lost membership

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Do nothing: the library fetches the committed offsets of partitions without a position."""


def _queued_end(manager: TransactionManager) -> EndTxnHandler:
    """The request that ends the transaction, which waits in the queue."""
    return next(handler for *_, handler in manager._pending_requests if isinstance(handler, EndTxnHandler))  # noqa: SLF001 - the public interface does not show this


def _await(result: Any, timeout_s: float, what: str) -> None:
    if not result.wait(int(timeout_s * MS_PER_S)):
        raise KafkaTimeoutError(f"no answer to {what} within {timeout_s:.1f} s")


def _fate(future: FutureRecordMetadata, timeout_s: float) -> SendResult:
    try:
        metadata = future.get(timeout=max(0.0, timeout_s))
    except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the record's outcome
        return SendResult(OperationType.INFO, error=describe(error))
    if metadata.offset is None or metadata.offset < 0:
        return SendResult(OperationType.INFO, error="acknowledged without an offset")
    return SendResult(OperationType.OK, metadata.offset)


def _keyed(error: Exception) -> tuple[ErrorSource, int | str]:
    if isinstance(error, BrokerResponseError) and error.errno is not None:
        return ErrorSource.BROKER, int(error.errno)
    return ErrorSource.KAFKA_PYTHON, type(error).__name__
