"""confluent-kafka (librdkafka) behind the client interface.

Its consumers need a group id although they never join or commit.  librdkafka looks for the coordinator
nevertheless, and so the cluster creates its offsets topic.  Its producers send a record again after errors 3,
5 and 6, however few retries are allowed (measured with 2.16: until the delivery timeout).  With acks=all
these errors may follow an append.  So it is unknown whether an attempt is the only one, and without
idempotence a record can appear twice.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from checkers.history.operations import OperationType
from harness.clients.bounded import within
from harness.clients.errors import ErrorSource, classify, raised_by_send
from harness.clients.interface import (
    ClientFailedError,
    ConsumerOptions,
    Message,
    ProducerOptions,
    ProducerRecord,
    ReadError,
    SendResult,
    carried,
)
from harness.record.journal import describe

_GRACE_S = 1.0
_POLL_S = 0.1
_IN_FLIGHT = 5
"""The number of batches that a broker remembers of each idempotent producer."""
_AGAIN_MS = 30
"""So short that a refused batch is in flight again when it would be accepted."""
REPORTS_AFTER_FATAL_S = 1.0
"""How long to wait for delivery reports after a fatal error of a producer."""
_FIRST_LOCAL_ERROR = -100
"""Codes below this are librdkafka's own; the others come from brokers."""
_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001 - a public constant in spite of its name
_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION)  # noqa: SLF001 - public constants in spite of their names

_SILENT = logging.getLogger("krucible.librdkafka")
_SILENT.propagate = False
_SILENT.addHandler(logging.NullHandler())


def made(kind: Callable[[dict[str, Any]], Any], config: dict[str, Any]) -> Any:
    """A client of the library.

    Raises:
        ClientFailedError: the library could not make it.
    """
    try:
        return kind(config)
    except Exception as error:
        raise ClientFailedError(error_text(error)) from error


def subscribe(consumer: Consumer, topic: str, **callbacks: Callable[..., None]) -> None:
    """Have a consumer of the library subscribe to a topic.

    Raises:
        ClientFailedError: the library refuses.
    """
    try:
        consumer.subscribe([topic], **callbacks)
    except Exception as error:
        raise ClientFailedError(error_text(error)) from error


def error_text(error: BaseException) -> str:
    """The library's exception as one line, with Kafka's name of the error if it has one."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    if not isinstance(cause, KafkaError):
        return describe(error)
    return f"{cause.name()}: {cause.str()}{' (fatal)' if cause.fatal() else ''}"


def client_config(bootstrap: tuple[str, ...], request_ms: int, **config: object) -> dict[str, Any]:
    """Configuration of librdkafka for every client; names in `config` have underscores for dots."""
    return {
        "bootstrap.servers": ",".join(bootstrap),
        "client.id": "krucible",
        "socket.timeout.ms": request_ms,
        "socket.connection.setup.timeout.ms": 2000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1000,
        "topic.metadata.refresh.interval.ms": 5000,
        "allow.auto.create.topics": False,
        "log_level": 0,
        "logger": _SILENT,
        "error_cb": lambda _error: None,  # what matters is reported per record or raised by a poll
        **{name.replace("_", "."): value for name, value in config.items()},
    }


class ConfluentProducer:
    """A `LogProducer`; made without asking any broker."""

    def __init__(self, options: ProducerOptions) -> None:
        self._options = options
        self._producer = made(Producer, producer_config(options))

    def send(self, batch: Sequence[ProducerRecord]) -> list[SendResult]:
        """As promised by `LogProducer.send`."""
        deadline = time.monotonic() + self._options.delivery_ms / 1000 + _GRACE_S
        fates: list[SendResult | None] = [None] * len(batch)
        for index, record in enumerate(batch):
            try:
                self._producer.produce(
                    self._options.topic,
                    value=record.content,
                    key=record.key,
                    headers=record.headers,
                    partition=record.partition,
                    on_delivery=self._reporter(fates, index),
                )
            except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the record's outcome
                fates[index] = refused(error)
        silent = SendResult(OperationType.INFO, error=self._await(fates, deadline))
        return [fate or silent for fate in fates]

    def _await(self, fates: list[SendResult | None], deadline: float) -> str:
        """Wait for the delivery reports; returns the reason why a record may have none.

        A fatal error is raised here once, whichever record it concerns; the reports follow it.
        """
        why = "no delivery report within the delivery timeout"
        while None in fates and (left_s := deadline - time.monotonic()) > 0:
            try:
                self._producer.poll(min(left_s, _POLL_S))
            except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the records' outcome
                why = error_text(error)
                deadline = min(deadline, time.monotonic() + REPORTS_AFTER_FATAL_S)
                time.sleep(_POLL_S)
        return why

    def close(self, timeout_s: float) -> None:
        """As promised by `LogProducer.close`."""

        def end() -> None:
            self._producer.purge(blocking=False)
            self._producer.close()

        within(timeout_s, "closing confluent-kafka's producer", end)

    def _reporter(self, fates: list[SendResult | None], index: int) -> Callable[[Any, Any], None]:
        def report(error: KafkaError | None, message: Any) -> None:
            fates[index] = fate_of(error, message.offset(), self._options)

        return report


def producer_config(options: ProducerOptions) -> dict[str, Any]:
    """Configuration of librdkafka for a producer."""
    more: dict[str, object] = {} if options.idempotent else {"retries": 0}
    if options.pipelined:
        more |= {"batch_num_messages": 1, "max_in_flight": _IN_FLIGHT}
        more |= {"retry_backoff_ms": _AGAIN_MS, "retry_backoff_max_ms": 2 * _AGAIN_MS}
    return client_config(
        options.bootstrap,
        options.request_ms,
        acks=options.acks,
        enable_idempotence=options.idempotent,
        delivery_timeout_ms=options.delivery_ms,
        request_timeout_ms=options.request_ms,
        linger_ms=0,
        **more,
    )


def refused(error: Exception) -> SendResult:
    """The outcome of a record for which the library's own call raised."""
    if not isinstance(error, (BufferError, KafkaException, ValueError)):
        return SendResult(OperationType.INFO, error=error_text(error))
    outcome, reason = raised_by_send(error_text(error))
    return SendResult(outcome, error=reason)


def fate_of(error: KafkaError | None, offset: int | None, options: ProducerOptions) -> SendResult:
    """The outcome of a record according to its delivery report."""
    if error is None:
        if options.acks == "0":
            return SendResult(OperationType.OK)
        if offset is None or offset < 0:
            return SendResult(OperationType.INFO, error="acknowledged without an offset")
        return SendResult(OperationType.OK, offset)
    outcome, reason = classify(
        ErrorSource.LIBRDKAFKA if error.code() < _FIRST_LOCAL_ERROR else ErrorSource.BROKER,
        error.code(),
        only_attempt=not options.idempotent and options.acks != "all",
        acks=options.acks,
    )
    return SendResult(outcome, error=f"{error.name()}: {error.str()} ({reason})")


class ConfluentConsumer:
    """A `LogConsumer`; made without asking any broker."""

    def __init__(self, options: ConsumerOptions) -> None:
        self._options = options
        self._pending: ReadError | None = None
        self._positions: dict[int, int] = {}
        self._consumer = made(
            Consumer,
            client_config(
                options.bootstrap,
                options.request_ms,
                group_id="krucible",
                enable_auto_commit=False,
                enable_auto_offset_store=False,
                auto_offset_reset="error",
                enable_partition_eof=True,  # reports the position if the last records are not visible here
                isolation_level=options.isolation.value,
                check_crcs=True,
                fetch_wait_max_ms=min(250, options.request_ms),
                fetch_error_backoff_ms=100,
            ),
        )

    def assign(self, positions: Mapping[int, int]) -> None:
        """As promised by `LogConsumer.assign`."""
        topic = self._options.topic
        self._pending = None
        self._positions = dict(positions)
        try:
            self._consumer.assign([TopicPartition(topic, p, offset) for p, offset in positions.items()])
        except Exception as error:
            raise ReadError(error_text(error)) from error

    def poll(self, max_wait_s: float) -> list[Message]:
        """See `LogConsumer.poll`; an error that follows records is raised by the next call."""
        if self._pending is not None:
            error, self._pending = self._pending, None
            raise error
        returned = self._returned(max_wait_s)
        records = [
            Message(m.partition(), m.offset(), carried(m.value(), m.headers()))
            for m in returned
            if m.error() is None
        ]
        failed = [m for m in returned if m.error() is not None and m.error().code() != _EOF]
        self._positions.update({record.partition: record.offset + 1 for record in records})
        self._positions.update({m.partition(): m.offset() for m in returned if _is_eof(m)})
        if failed:
            self._pending = _read_error(failed)
            if not records:
                return self.poll(max_wait_s)
        return records

    def position(self, partition: int) -> int | None:
        """As promised by `LogConsumer.position`."""
        return self._positions.get(partition)

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        """As promised by `LogConsumer.offsets`."""
        deadline = time.monotonic() + timeout_s
        found: dict[int, tuple[int, int]] = {}
        for partition in partitions:
            left_s = max(0.05, deadline - time.monotonic())
            try:
                pair = self._consumer.get_watermark_offsets(
                    TopicPartition(self._options.topic, partition), timeout=left_s
                )
            except Exception as error:
                raise ReadError(error_text(error)) from error
            if pair is None:
                raise ReadError(f"no offsets of partition {partition} within {timeout_s:.1f} s")
            found[partition] = pair
        return found

    def close(self, timeout_s: float) -> None:
        """As promised by `LogConsumer.close`."""
        within(timeout_s, "closing confluent-kafka's consumer", self._consumer.close)

    def _returned(self, max_wait_s: float) -> list[Any]:
        return available(self._consumer, max_wait_s, self._options.poll_records_max)


def available(
    consumer: Any, max_wait_s: float, records_max: int, revocations: Callable[[], int] = lambda: 0
) -> list[Any]:
    """All available records and events of a consumer; waits only for the first (``consume`` waits for all).

    If the group revokes partitions after the first record, that record is dropped: by the time it is handled,
    the consumer may be a member of the next generation.  ``consume`` itself returns no revoked records.

    Args:
        consumer: the library's consumer.
        max_wait_s: how long to wait for the first.
        records_max: maximum number of records.
        revocations: how often the group has revoked its partitions.

    Raises:
        ReadError: the library raised an error.
    """
    try:
        first = consumer.poll(max_wait_s)
        if first is None:
            return []
        before = revocations()
        others = consumer.consume(num_messages=records_max - 1, timeout=0)
        return [first, *others] if revocations() == before else others
    except Exception as error:
        raise ReadError(error_text(error)) from error


def _is_eof(message: Any) -> bool:
    return message.error() is not None and message.error().code() == _EOF


def _read_error(failed: list[Any]) -> ReadError:
    text = "; ".join(f"{message.error().name()}: {message.error().str()}" for message in failed[:3])
    return ReadError(
        text,
        [m.partition() for m in failed if m.error().code() in _OUT_OF_RANGE and m.partition() is not None],
    )
