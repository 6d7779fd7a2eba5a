"""kafka-python behind the client interface."""

import time
from collections.abc import Iterable, Mapping, Sequence

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import (
    BrokerResponseError,
    IllegalStateError,
    KafkaTimeoutError,
    LogTruncationError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
)
from kafka.producer.future import FutureRecordMetadata

from checkers.history.operations import OperationType
from harness.clients.bounded import within
from harness.clients.errors import ErrorSource, classify, raised_by_send
from harness.clients.interface import (
    ConsumerOptions,
    Message,
    ProducerOptions,
    ProducerRecord,
    ReadError,
    SendResult,
    carried,
)
from harness.clients.kafka_python_making import EndableProducer, end_consumer, made_client, producer_bounds
from harness.record.journal import describe

_GRACE_S = 1.0
_ACKS = {"all": "all", "1": 1, "0": 0}
_REFUSALS = (KafkaTimeoutError, MessageSizeTooLargeError, IllegalStateError, ValueError, TypeError)
"""Exceptions of KafkaProducer.send, all of which are raised before the record is queued."""


def polled(consumer: KafkaConsumer, max_wait_s: float) -> list[Message]:
    """The next records that a consumer of the library returns, partition by partition.

    Raises:
        ReadError: the library reported an error.
    """
    try:
        returned = consumer.poll(timeout_ms=int(max_wait_s * 1000))
    except Exception as error:
        raise ReadError(describe(error), _out_of_range(error)) from error
    return [
        Message(record.partition, record.offset, carried(record.value, record.headers))
        for records in returned.values()
        for record in records
    ]


def polled_in_group(consumer: KafkaConsumer, max_wait_s: float) -> list[Message]:
    """As `polled`, for a consumer that subscribed.

    After a change of metadata, version 3.0 forgets a join that takes longer than the poll that began it.
    Then the member sends no heartbeats and reads nothing, so the join is requested again.

    Raises:
        ReadError: the library reported an error.
    """
    messages = polled(consumer, max_wait_s)
    coordinator = consumer._coordinator  # noqa: SLF001 - the public interface does not show an ongoing join
    try:
        if coordinator.rejoining:
            coordinator.request_rejoin()
    except Exception as error:
        # The member is no longer used, so that the next one reads the returned records.
        raise ReadError(describe(error)) from error
    return messages


class KafkaPythonProducer:
    """A `LogProducer`.

    Raises:
        ClientFailedError: no broker answered.
    """

    def __init__(self, options: ProducerOptions) -> None:
        self._options = options
        self._producer = made_client(
            EndableProducer,
            options.bootstrap,
            acks=_ACKS[options.acks],
            enable_idempotence=options.idempotent,
            retries=float("inf") if options.idempotent else 0,
            **producer_bounds(options.delivery_ms, options.request_ms, options.connect_ms),
        )

    def send(self, batch: Sequence[ProducerRecord]) -> list[SendResult]:
        """As promised by `LogProducer.send`."""
        deadline = time.monotonic() + self._options.delivery_ms / 1000 + _GRACE_S
        queued = self._queue(batch)
        return [
            future if isinstance(future, SendResult) else self._outcome(future, deadline - time.monotonic())
            for future in queued
        ]

    def close(self, timeout_s: float) -> None:
        """As promised by `LogProducer.close`."""
        within(timeout_s, "closing kafka-python's producer", self._producer.end)

    def _queue(self, batch: Sequence[ProducerRecord]) -> list[FutureRecordMetadata | SendResult]:
        """A future or an outcome for each record; after a timeout the remaining records are not tried."""
        queued: list[FutureRecordMetadata | SendResult] = []
        for record in batch:
            try:
                queued.append(
                    self._producer.send(
                        self._options.topic,
                        value=record.content,
                        key=record.key,
                        partition=record.partition,
                        headers=record.headers,
                    )
                )
            except _REFUSALS as error:
                outcome, reason = raised_by_send(describe(error))
                queued.append(SendResult(outcome, error=reason))
                if isinstance(error, KafkaTimeoutError):
                    rest = len(batch) - len(queued)
                    return queued + [SendResult(outcome, error="not sent after that")] * rest
            except Exception as error:  # noqa: BLE001 - a defect of the library, recorded as the record's outcome
                queued.append(self._failed(error))
        return queued

    def _outcome(self, future: FutureRecordMetadata, timeout_s: float) -> SendResult:
        try:
            metadata = future.get(timeout=max(0.0, timeout_s))
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the record's outcome
            return self._failed(error)
        if self._options.acks == "0":
            return SendResult(OperationType.OK)
        if metadata.offset is None or metadata.offset < 0:
            return SendResult(OperationType.INFO, error="acknowledged without an offset")
        return SendResult(OperationType.OK, metadata.offset)

    def _failed(self, error: BaseException) -> SendResult:
        broker = isinstance(error, BrokerResponseError) and error.errno is not None
        outcome, reason = classify(
            ErrorSource.BROKER if broker else ErrorSource.KAFKA_PYTHON,
            error.errno if broker else type(error).__name__,  # type: ignore[attr-defined]  # `broker` implies it
            only_attempt=not self._options.idempotent,
            acks=self._options.acks,
        )
        return SendResult(outcome, error=f"{describe(error)} ({reason})")


class KafkaPythonConsumer:
    """A `LogConsumer`.

    Raises:
        ClientFailedError: no broker answered.
    """

    def __init__(self, options: ConsumerOptions) -> None:
        self._options = options
        self._consumer = made_client(
            KafkaConsumer,
            options.bootstrap,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level=options.isolation.value,
            request_timeout_ms=options.request_ms,
            fetch_max_wait_ms=min(250, options.request_ms - 1),
            max_poll_records=options.poll_records_max,
            bootstrap_timeout_ms=options.connect_ms,
            allow_auto_create_topics=False,
        )

    def assign(self, positions: Mapping[int, int]) -> None:
        """As promised by `LogConsumer.assign`."""
        try:
            self._consumer.assign(self._partitions(positions))
            for partition, offset in positions.items():
                self._consumer.seek(TopicPartition(self._options.topic, partition), offset)
        except Exception as error:
            raise ReadError(describe(error)) from error

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `LogConsumer.poll`."""
        return polled(self._consumer, max_wait_s)

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        """As promised by `LogConsumer.offsets`."""
        wanted = self._partitions(partitions)
        try:
            first = self._consumer.beginning_offsets(wanted, timeout_ms=int(timeout_s * 500))
            end = self._consumer.end_offsets(wanted, timeout_ms=int(timeout_s * 500))
            return {tp.partition: (first[tp], end[tp]) for tp in wanted}
        except Exception as error:
            raise ReadError(describe(error)) from error

    def position(self, partition: int) -> int | None:
        """As promised by `LogConsumer.position`."""
        try:
            position: int | None = self._consumer.position(
                TopicPartition(self._options.topic, partition), timeout_ms=self._options.request_ms
            )
        except Exception as error:
            raise ReadError(describe(error), _out_of_range(error)) from error
        return position

    def close(self, timeout_s: float) -> None:
        """As promised by `LogConsumer.close`."""
        end_consumer(self._consumer, timeout_s, "kafka-python's consumer")

    def _partitions(self, partitions: Iterable[int]) -> list[TopicPartition]:
        return [TopicPartition(self._options.topic, partition) for partition in partitions]


def _out_of_range(error: Exception) -> list[int]:
    if isinstance(error, LogTruncationError):
        return [tp.partition for tp in error.divergent_offsets]
    if isinstance(error, OffsetOutOfRangeError) and error.args and isinstance(error.args[0], dict):
        return [tp.partition for tp in error.args[0]]
    return []
