"""confluent-kafka's (librdkafka's) transactional producer behind the interface.

It does not report its producer id, nor whether it sent a request twice: no refusal of a coordinator proves
that a commit did not happen.  Rebalances are served within poll, because callbacks are registered; without
them librdkafka would change the assignment without notice.  Calls do not always return within their timeouts
(measured with 2.16, and known: librdkafka's issues 5456 and 5511), so each is made in a separate thread.

A producer ends when Python destroys it.  Only then the wrapper calls ``rd_kafka_destroy``, which stops all
threads of the producer, and returns when they have ended: ``rd_kafka_destroy_app`` joins the main
thread, and ``rd_kafka_destroy_internal``, in that thread, joins those of the brokers.  After that nobody
repeats a request; only bytes in the buffers of closed sockets may still arrive.  Until then the threads go
on: ``message.timeout.ms`` is for records, and does not limit initialisations and ends of transactions.  An
error keeps the variables of the functions that it passed through, so no variable of this module refers to
the library's producer.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from checkers.history.operations import OperationType
from checkers.history.units import MS_PER_S
from harness.clients.bounded import within
from harness.clients.confluent import available, client_config, error_text, made
from harness.clients.confluent_groups import Subscription, member_config
from harness.clients.errors import ErrorSource
from harness.clients.interface import ClientFailedError, Message, ReadError, SendResult
from harness.clients.transactional import (
    GroupOffsets,
    GroupOptions,
    Identity,
    TopicRecord,
    TransactionalOptions,
    TransactionError,
)
from harness.clients.transactional_errors import classify_commit
from harness.record.journal import describe

_GRACE_S = 1.0
_POLL_S = 0.1
_CLOSE_S = 5.0
_OFFSETS_S = 0.5
"""How long one poll asks for committed offsets; the library repeats the request while they are unstable."""
_COMMIT = "commit_transaction"
_OWN_REFERENCES = 2
"""References to a producer that is counted: its attribute, and the argument of the function that counts."""
_FIRST_LOCAL_ERROR = -100
_PASSING = frozenset(
    {
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TIMED_OUT,  # noqa: SLF001 - the library's own name
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001 - the library's own name
        KafkaError._TRANSPORT,  # noqa: SLF001 - the library's own name
        KafkaError._WAIT_COORD,  # noqa: SLF001 - the library's own name
    }
)
"""Errors after which the committed offsets are asked for again."""


class ConfluentTransactionalProducer:
    """A `TransactionalProducer`; made without asking any broker."""

    def __init__(self, options: TransactionalOptions) -> None:
        self._options = options
        self._hangs: str | None = None
        self._producer = made(
            Producer,
            client_config(
                options.bootstrap,
                options.request_ms,
                transactional_id=options.transactional_id,
                transaction_timeout_ms=options.transaction_timeout_ms,
                acks="all",
                enable_idempotence=True,
                delivery_timeout_ms=options.delivery_ms,
                request_timeout_ms=options.request_ms,
                linger_ms=0,
            ),
        )

    def initialise(self, timeout_s: float) -> Identity:
        """As promised by `TransactionalProducer.initialise`."""
        self._bounded("init_transactions", timeout_s)
        return Identity()

    def begin(self) -> None:
        """As promised by `TransactionalProducer.begin`."""
        try:
            self._producer.begin_transaction()
        except Exception as error:
            raise TransactionError(error_text(error), OperationType.FAIL) from error

    def send(self, batch: Sequence[TopicRecord]) -> list[SendResult]:
        """As promised by `TransactionalProducer.send`."""
        deadline = time.monotonic() + self._options.delivery_ms / MS_PER_S + _GRACE_S
        fates: list[SendResult | None] = [None] * len(batch)
        for index, record in enumerate(batch):
            try:
                self._producer.produce(
                    record.topic,
                    value=record.sent.content,
                    key=record.key,
                    headers=record.sent.headers,
                    partition=record.partition,
                    on_delivery=_reporter(fates, index),
                )
            except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the record's outcome
                fates[index] = SendResult(OperationType.INFO, error=error_text(error))
        silent = self._await(fates, deadline)
        return [fate or silent for fate in fates]

    def _await(self, fates: list[SendResult | None], deadline: float) -> SendResult:
        """Wait for the delivery reports; returns the outcome of records without one."""
        try:
            while None in fates and (left_s := deadline - time.monotonic()) > 0:
                self._producer.poll(min(left_s, _POLL_S))
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the records' outcome
            # A producer that was fenced raises from poll, and may send no further reports.
            return SendResult(OperationType.INFO, error=error_text(error))
        return SendResult(OperationType.INFO, error="no delivery report within the delivery timeout")

    def send_offsets(self, offsets: GroupOffsets, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.send_offsets`."""
        where = [TopicPartition(offsets.topic, p, offset) for p, offset in offsets.positions.items()]
        self._bounded("send_offsets_to_transaction", timeout_s, where, offsets.membership)

    def commit(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.commit`."""
        self._bounded(_COMMIT, timeout_s)

    def abort(self, timeout_s: float) -> None:
        """As promised by `TransactionalProducer.abort`."""
        self._bounded("abort_transaction", timeout_s)

    def close(self, timeout_s: float) -> None:
        """See `TransactionalProducer.close`; the library's close would abort, without a time limit."""

        def end() -> None:
            self._producer.purge(blocking=False)
            others = sys.getrefcount(self._producer) - _OWN_REFERENCES
            del self._producer
            if others > 0:
                raise RuntimeError(f"it goes on: {others} others refer to it")

        if self._hangs is not None:
            raise ClientFailedError(f"confluent-kafka's {self._hangs} has not returned")
        within(timeout_s, "closing confluent-kafka's transactional producer", end)

    def _bounded(self, what: str, timeout_s: float, *arguments: object) -> None:
        """Call a method of the library's producer, which should raise in time.

        Args:
            what: name of the method.
            timeout_s: its last argument.
            arguments: the arguments before that.

        Raises:
            TransactionError: it raised, or did not return.
        """
        try:
            within(timeout_s + _GRACE_S, what, lambda: getattr(self._producer, what)(*arguments, timeout_s))
        except ClientFailedError as error:
            if error.__cause__ is None:
                self._hangs = what
            if not isinstance(error.__cause__, KafkaException):
                raise TransactionError(str(error)) from error
            cause = error.__cause__.args[0]
            source = ErrorSource.LIBRDKAFKA if cause.code() < _FIRST_LOCAL_ERROR else ErrorSource.BROKER
            if what != _COMMIT:
                raise TransactionError(_text(cause)) from error
            outcome, reason = classify_commit(source, cause.code(), only_attempt=False)
            raise TransactionError(f"{_text(cause)} ({reason})", outcome) from error


class ConfluentGroupConsumer:
    """A `GroupConsumer`; made without asking any broker.

    It reads the group's offsets itself.  If librdkafka 2.16 gets UNSTABLE_OFFSET_COMMIT and the group has
    rebalanced since it asked, it acts as if the group had no offset, and begins where ``auto.offset.reset``
    says: ``rd_kafka_assignment_apply_offsets`` does not ask again, although its comment says so, but starts
    at the -1 of the answer.  Then records are copied twice, although the brokers did nothing wrong.
    """

    def __init__(self, options: GroupOptions) -> None:
        self._options = options
        self._unstarted: list[int] = []
        self._failure: str | None = None
        self._revocations = 0
        self._consumer = made(
            Consumer,
            member_config(
                options,
                isolation_level="read_committed",
                session_timeout_ms=options.session_ms,
                heartbeat_interval_ms=options.session_ms // 4,
            ),
        )
        self._subscription = Subscription(
            self._consumer,
            options.topic,
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
        )

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `GroupConsumer.poll`."""
        if self._unstarted:
            try:
                self._start(self._consumer)
            except Exception as error:
                raise ReadError(error_text(error)) from error
        most = self._options.poll_records_max
        returned = available(self._consumer, max_wait_s, most, lambda: self._revocations)
        if self._failure is not None:
            raise ReadError(self._failure)
        failed = [message.error() for message in returned if message.error() is not None]
        if failed:
            # The caller closes this member, so that the next one reads the records that came with the error.
            raise ReadError("; ".join(_text(error) for error in failed[:3]))
        return [Message(m.partition(), m.offset(), m.value()) for m in returned]

    def rewind(self, positions: Mapping[int, int]) -> None:
        """As promised by `GroupConsumer.rewind`."""
        try:
            for partition, offset in positions.items():
                self._consumer.seek(TopicPartition(self._options.topic, partition, offset))
        except Exception as error:
            raise ReadError(error_text(error)) from error

    def membership(self) -> object:
        """As promised by `GroupConsumer.membership`."""
        try:
            return self._consumer.consumer_group_metadata()
        except Exception as error:
            raise ReadError(error_text(error)) from error

    def close(self, timeout_s: float) -> None:
        """As promised by `GroupConsumer.close`."""
        within(timeout_s, "closing confluent-kafka's group consumer", self._subscription.close)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Begin at the group's committed offsets, as soon as they are stable."""
        self._unstarted = [place.partition for place in partitions]
        consumer.assign([])  # otherwise the library assigns the partitions after this callback
        if self._unstarted:
            self._start(consumer)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group revoked all partitions, because assignments are eager."""
        del partitions
        self._unstarted = []
        self._revocations += 1
        consumer.unassign()

    def _start(self, consumer: Consumer) -> None:
        """Assign the partitions at their committed offsets, at 0 without any.

        After a passing error the next poll tries again.  Another error is raised by the poll that calls this,
        and the caller closes this member.
        """
        topic = self._options.topic
        asked = [TopicPartition(topic, partition) for partition in self._unstarted]
        try:
            known = consumer.committed(asked, timeout=_OFFSETS_S)
            failed = [place.error for place in known if place.error is not None]
        except KafkaException as error:
            failed = [error.args[0]]
        if not failed:
            consumer.assign([TopicPartition(topic, one.partition, max(one.offset, 0)) for one in known])
            self._unstarted = []
        elif lasting := [error for error in failed if error.code() not in _PASSING]:
            self._failure = f"no committed offsets: {_text(lasting[0])}"


def _reporter(fates: list[SendResult | None], index: int) -> Callable[[Any, Any], None]:
    def report(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            fates[index] = SendResult(OperationType.INFO, error=_text(error))
        elif message.offset() is None or message.offset() < 0:
            fates[index] = SendResult(OperationType.INFO, error="acknowledged without an offset")
        else:
            fates[index] = SendResult(OperationType.OK, message.offset())

    return report


def _text(error: KafkaError) -> str:
    return f"{error.name()}: {error.str()}"


def committed_offsets(
    options: GroupOptions, partitions: Iterable[int], timeout_s: float
) -> dict[int, int | None]:
    """A group's committed offset in each partition; None if it committed none.

    Transactions that are about to be committed are awaited (``require_stable`` of KIP-447).

    Raises:
        ReadError: there was no answer.
        ClientFailedError: the client could not be made, or not be closed.
    """
    consumer = made(
        Consumer,
        client_config(
            options.bootstrap,
            options.request_ms,
            group_id=options.group,
            enable_auto_commit=False,
            isolation_level="read_committed",
        ),
    )
    try:
        found: list[TopicPartition] = consumer.committed(
            [TopicPartition(options.topic, partition) for partition in partitions], timeout=timeout_s
        )
    except (KafkaException, RuntimeError) as error:
        raise ReadError(describe(error)) from error
    finally:
        within(_CLOSE_S, "closing confluent-kafka's reader of offsets", consumer.close)
    failed = [place.error for place in found if place.error is not None]
    if failed:
        raise ReadError("; ".join(_text(error) for error in failed[:3]))
    return {place.partition: place.offset if place.offset >= 0 else None for place in found}
