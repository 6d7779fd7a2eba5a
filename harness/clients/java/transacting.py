"""The transactional producer of kafka-clients, in the process that has the JVM.

It speaks the version of the protocol that the cluster's feature ``transaction.version`` asks for, which is 2
on new clusters.  What waits for a coordinator is bounded by the library itself (``max.block.ms``), and then
goes on in the background, so an instance is given up after any error.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from checkers.history.operations import OperationType
from harness.clients.errors import ErrorSource
from harness.clients.interface import SendResult
from harness.clients.java.copying import sent_offsets
from harness.clients.java.errors import COMMIT_CODES
from harness.clients.java.jvm import JavaError, cause_of, class_of
from harness.clients.java.producing import (
    GRACE_S,
    LATE,
    PRODUCER,
    awaited,
    close,
    error_text,
    made,
    producer_config,
    producer_record,
)
from harness.clients.transactional import (
    GroupOffsets,
    Identity,
    TopicRecord,
    TransactionalOptions,
    TransactionError,
)
from harness.clients.transactional_errors import classify_commit


class JavaTransactionalProducer:
    """A `TransactionalProducer`; made without asking any broker."""

    def __init__(self, options: TransactionalOptions) -> None:
        self._options = options
        self._producer = made(
            PRODUCER,
            producer_config(
                options,
                transactional_id=options.transactional_id,
                transaction_timeout_ms=options.transaction_timeout_ms,
                acks="all",
                enable_idempotence=True,
                max_block_ms=options.delivery_ms,
            ),
        )

    def initialise(self, timeout_s: float) -> Identity:
        """As promised by `TransactionalProducer.initialise`; the library does not report its id."""
        del timeout_s
        self._asked(self._producer.initTransactions)
        return Identity()

    def begin(self) -> int | None:
        """As promised by `TransactionalProducer.begin`; the version is that of the library's own state."""
        self._asked(self._producer.beginTransaction, OperationType.FAIL)
        return _version_of(self._producer)

    def send(self, batch: Sequence[TopicRecord]) -> list[SendResult]:
        """As promised by `TransactionalProducer.send`."""
        deadline = time.monotonic() + self._options.delivery_ms / 1000 + GRACE_S
        queued = [self._queued(record) for record in batch]
        return [one if isinstance(one, SendResult) else _outcome(one, deadline) for one in queued]

    def send_offsets(self, offsets: GroupOffsets, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.send_offsets`."""
        del timeout_s
        where, member = sent_offsets(offsets)
        self._asked(lambda: self._producer.sendOffsetsToTransaction(where, member))

    def commit(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.commit`."""
        del timeout_s
        try:
            self._producer.commitTransaction()
        except JavaError as error:
            code = COMMIT_CODES.get(class_of(error), class_of(error))
            source = ErrorSource.BROKER if isinstance(code, int) else ErrorSource.JAVA
            outcome, reason = classify_commit(source, code, only_attempt=False)
            raise TransactionError(f"{_text_of(error)} ({reason})", outcome) from None

    def abort(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.abort`."""
        del timeout_s
        self._asked(self._producer.abortTransaction)

    def close(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.close`: without a timeout the library aborts nothing."""
        del timeout_s
        close(self._producer)

    def _asked(self, ask: Callable[[], Any], outcome: OperationType = OperationType.INFO) -> None:
        try:
            ask()
        except JavaError as error:
            raise TransactionError(_text_of(error), outcome) from None

    def _queued(self, record: TopicRecord) -> Any:
        """The future of a record, or already its outcome."""
        try:
            return self._producer.send(producer_record(record.topic, record.sent))
        except JavaError as error:
            return SendResult(OperationType.INFO, error=_text_of(error))


def _version_of(producer: Any) -> int | None:
    """The version of the protocol of a producer's current transaction.

    ``KafkaProducer`` does not report it, so its ``TransactionManager`` is asked, which knows version 2 since
    4.0.  None if a later library keeps it elsewhere.
    """
    fields = {str(field.getName()): field for field in producer.getClass().getDeclaredFields()}
    field = fields.get("transactionManager")
    if field is None:
        return None
    field.setAccessible(True)
    is_second = getattr(field.get(producer), "isTransactionV2Enabled", None)
    return 2 if is_second is not None and is_second() else 1


def _outcome(future: Any, deadline: float) -> SendResult:
    error, offset = awaited(future, deadline)
    if error is LATE:
        return SendResult(OperationType.INFO, error=str(LATE))
    if error is not None:
        return SendResult(OperationType.INFO, error=_text_of(error))
    if offset is None:
        return SendResult(OperationType.INFO, error="acknowledged without an offset")
    return SendResult(OperationType.OK, offset)


def _text_of(error: BaseException) -> str:
    """What the library threw; once it gave up, it throws one error with the reason behind it."""
    cause = cause_of(error)
    if class_of(error) != "KafkaException" or cause is error:
        return error_text(error)
    return f"{error_text(cause)} (by {class_of(error)})"
