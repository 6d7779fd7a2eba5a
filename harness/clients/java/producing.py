"""The producer of kafka-clients, in the process that has the JVM."""

import time
from collections.abc import Sequence
from typing import Any

from checkers.history.operations import OperationType
from harness.clients.errors import raised_by_send
from harness.clients.interface import ClientFailedError, ProducerOptions, ProducerRecord, SendResult
from harness.clients.java.errors import REFUSALS, classify, error_line
from harness.clients.java.jvm import (
    JavaError,
    cause_of,
    class_of,
    duration,
    java,
    listed,
    message_of,
    properties,
    to_java,
)
from harness.clients.transactional import TransactionalOptions

GRACE_S = 1.0
PRODUCER = "org.apache.kafka.clients.producer.KafkaProducer"
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"
_REFUSED = "FutureFailure"
"""The class of the future of a record that was not queued."""
_LATE = "no outcome within the delivery timeout"


def client_config(bootstrap: Sequence[str], request_ms: int, **config: object) -> dict[str, object]:
    """Configuration of every client of the library."""
    return {
        "bootstrap_servers": ",".join(bootstrap),
        "client_id": "krucible",
        "request_timeout_ms": request_ms,
        "socket_connection_setup_timeout_ms": 2000,
        "socket_connection_setup_timeout_max_ms": 4000,
        "reconnect_backoff_ms": 50,
        "reconnect_backoff_max_ms": 1000,
        "metadata_max_age_ms": 5000,
        "enable_metrics_push": False,
        **config,
    }


def producer_config(options: ProducerOptions | TransactionalOptions, **more: object) -> dict[str, object]:
    """Configuration of every producer of the library."""
    return client_config(
        options.bootstrap,
        options.request_ms,
        key_serializer=_SERIALIZER,
        value_serializer=_SERIALIZER,
        delivery_timeout_ms=options.delivery_ms,
        linger_ms=0,
        **more,
    )


def error_text(error: BaseException) -> str:
    """What the library threw as one line."""
    return error_line(class_of(error), message_of(error))


def made(kind: str, config: dict[str, object]) -> Any:
    """A client of the library, by the full name of its class.

    Raises:
        ClientFailedError: it could not be made.
    """
    try:
        return java(kind)(properties(config))
    except JavaError as error:
        why = error_text(cause_of(error))
        raise ClientFailedError(f"{error_text(error)} ({why})") from None


def producer_record(topic: str, record: ProducerRecord) -> Any:
    """A record as the library takes it."""
    headers = [
        java("org.apache.kafka.common.header.internals.RecordHeader")(name, to_java(value))
        for name, value in record.headers
    ]
    return java("org.apache.kafka.clients.producer.ProducerRecord")(
        topic,
        java("java.lang.Integer").valueOf(record.partition),
        None,
        to_java(record.key),
        to_java(record.content),
        listed(headers),
    )


class JavaProducer:
    """A `LogProducer`; made without asking any broker."""

    def __init__(self, options: ProducerOptions) -> None:
        self._options = options
        more: dict[str, object] = {} if options.idempotent else {"retries": 0}
        self._producer = made(
            PRODUCER,
            producer_config(
                options,
                acks=options.acks,
                enable_idempotence=options.idempotent,
                max_block_ms=options.request_ms,
                **more,
            ),
        )

    def send(self, batch: Sequence[ProducerRecord]) -> list[SendResult]:
        """As promised by `LogProducer.send`."""
        deadline = time.monotonic() + self._options.delivery_ms / 1000 + GRACE_S
        queued = self._queue(batch)
        return [one if isinstance(one, SendResult) else self._outcome(one, deadline) for one in queued]

    def close(self, timeout_s: float) -> None:
        """As promised by `LogProducer.close`; what waits is aborted."""
        del timeout_s
        close(self._producer)

    def _queue(self, batch: Sequence[ProducerRecord]) -> list[Any]:
        """A future, or already the outcome, for each record; after a timeout the others are not tried."""
        queued: list[Any] = []
        for record in batch:
            try:
                future = self._producer.send(producer_record(self._options.topic, record))
            except JavaError as error:
                queued.append(self._refused(error))
                continue
            if str(future.getClass().getSimpleName()) != _REFUSED:
                queued.append(future)
                continue
            failure = failure_of(future)
            queued.append(self._refused(failure))
            if class_of(failure) == "TimeoutException":
                rest = len(batch) - len(queued)
                return queued + [SendResult(OperationType.FAIL, error="not sent after that")] * rest
        return queued

    def _refused(self, error: BaseException) -> SendResult:
        """The outcome of a record that the library's own call refused, perhaps after it was queued."""
        if class_of(error) not in REFUSALS:
            return self._failed(error)
        outcome, reason = raised_by_send(error_text(error))
        return SendResult(outcome, error=reason)

    def _outcome(self, future: Any, deadline: float) -> SendResult:
        error, offset = awaited(future, deadline)
        if error is not None:
            return SendResult(OperationType.INFO, error=_LATE) if error is LATE else self._failed(error)
        if self._options.acks == "0":
            return SendResult(OperationType.OK)
        if offset is None:
            return SendResult(OperationType.INFO, error="acknowledged without an offset")
        return SendResult(OperationType.OK, offset)

    def _failed(self, error: BaseException) -> SendResult:
        outcome, reason = classify(
            class_of(error), only_attempt=not self._options.idempotent, acks=self._options.acks
        )
        return SendResult(outcome, error=f"{error_text(error)} ({reason})")


LATE = TimeoutError(_LATE)
"""There was no outcome in time."""


def awaited(future: Any, deadline: float) -> tuple[BaseException | None, int | None]:
    """Wait for a record's outcome: its error, `LATE` if there is none in time, and its offset if it has one.

    Args:
        future: the record's.
        deadline: time of the monotonic clock.
    """
    left_ms = max(0, int((deadline - time.monotonic()) * 1000))
    try:
        metadata = future.get(left_ms, java("java.util.concurrent.TimeUnit").MILLISECONDS)
    except JavaError as error:
        if isinstance(error, java("java.util.concurrent.TimeoutException")):
            return LATE, None
        return cause_of(error), None
    return None, int(metadata.offset()) if metadata.hasOffset() else None


def failure_of(future: Any) -> BaseException:
    """The error of a record that was not queued.

    Raises:
        RuntimeError: it has none.
    """
    try:
        future.get()
    except JavaError as error:
        return cause_of(error)
    raise RuntimeError("a future of a failure did not fail")


def close(client: Any) -> None:
    """Close a client of the library at once.

    Raises:
        ClientFailedError: it threw.
    """
    try:
        client.close(duration(0))
    except JavaError as error:
        raise ClientFailedError(f"closing: {error_text(error)}") from None
