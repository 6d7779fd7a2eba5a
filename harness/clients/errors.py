"""Classifies errors of sends: the record was not appended (fail), or it may have been (info).

There is one table for kafka-python and librdkafka; `harness.clients.java.errors` has that of kafka-clients.
The send of a record certainly failed only in two cases: the error was raised before anything was sent, or
there was one attempt and the broker's code means that it appended nothing.  After all other errors, including
unknown ones, the outcome is unknown.
"""

from enum import StrEnum
from typing import NamedTuple

from checkers.history.operations import OperationType


class ErrorSource(StrEnum):
    """The origin of an error."""

    BROKER = "broker"
    KAFKA_PYTHON = "kafka-python"
    LIBRDKAFKA = "librdkafka"
    JAVA = "kafka-clients"


class Appended(StrEnum):
    """Whether an attempt that ended with an error may have been appended."""

    NO = "no"
    NO_UNLESS_AWAITED = "no, unless acks=all"
    """With acks=all a broker also returns this if it loses the partition while it waits for replicas."""
    MAYBE = "maybe"
    YES = "yes"


class ProduceErrorRule(NamedTuple):
    """One error: Kafka's code or the library's name for it, and its meaning for the record."""

    source: ErrorSource
    key: int | str
    name: str
    appended: Appended
    reason: str


class Classified(NamedTuple):
    """Fail or info, and the reason."""

    outcome: OperationType
    reason: str


_NO, _AWAITED, _MAYBE, _YES = Appended.NO, Appended.NO_UNLESS_AWAITED, Appended.MAYBE, Appended.YES
_BROKER, _PYTHON, _RD = ErrorSource.BROKER, ErrorSource.KAFKA_PYTHON, ErrorSource.LIBRDKAFKA

TABLE: tuple[ProduceErrorRule, ...] = (
    ProduceErrorRule(
        _BROKER, -1, "UNKNOWN_SERVER_ERROR", _MAYBE, "raised anywhere in the broker, before or after"
    ),
    ProduceErrorRule(_BROKER, 2, "CORRUPT_MESSAGE", _NO, "the checksum is verified before the append"),
    ProduceErrorRule(
        _BROKER, 3, "UNKNOWN_TOPIC_OR_PARTITION", _AWAITED, "the broker does not host the partition"
    ),
    ProduceErrorRule(
        _BROKER, 5, "LEADER_NOT_AVAILABLE", _AWAITED, "the broker knows no leader, so it isn't one"
    ),
    ProduceErrorRule(_BROKER, 6, "NOT_LEADER_OR_FOLLOWER", _AWAITED, "only a leader appends"),
    ProduceErrorRule(_BROKER, 7, "REQUEST_TIMED_OUT", _YES, "appended by the leader, replicas were too slow"),
    ProduceErrorRule(_BROKER, 10, "MESSAGE_TOO_LARGE", _NO, "sizes are verified before the append"),
    ProduceErrorRule(
        _BROKER, 13, "NETWORK_EXCEPTION", _MAYBE, "the connection broke, the request may have arrived"
    ),
    ProduceErrorRule(_BROKER, 17, "INVALID_TOPIC_EXCEPTION", _NO, "there is no such partition to append to"),
    ProduceErrorRule(_BROKER, 18, "RECORD_LIST_TOO_LARGE", _NO, "sizes are verified before the append"),
    ProduceErrorRule(_BROKER, 19, "NOT_ENOUGH_REPLICAS", _NO, "the ISR is counted before the append"),
    ProduceErrorRule(_BROKER, 20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", _YES, "its name says so"),
    ProduceErrorRule(_BROKER, 21, "INVALID_REQUIRED_ACKS", _NO, "acks are verified before the append"),
    ProduceErrorRule(
        _BROKER, 29, "TOPIC_AUTHORIZATION_FAILED", _NO, "permission is checked before the append"
    ),
    ProduceErrorRule(
        _BROKER, 31, "CLUSTER_AUTHORIZATION_FAILED", _NO, "permission is checked before the append"
    ),
    ProduceErrorRule(_BROKER, 32, "INVALID_TIMESTAMP", _NO, "timestamps are verified before the append"),
    ProduceErrorRule(
        _BROKER, 43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", _NO, "the format is verified before the append"
    ),
    ProduceErrorRule(
        _BROKER, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", _MAYBE, "about a sequence, whose earlier attempt is open"
    ),
    ProduceErrorRule(
        _BROKER, 46, "DUPLICATE_SEQUENCE_NUMBER", _YES, "appended by an earlier attempt, at an unknown offset"
    ),
    ProduceErrorRule(
        _BROKER, 47, "INVALID_PRODUCER_EPOCH", _MAYBE, "about a sequence, whose earlier attempt is open"
    ),
    ProduceErrorRule(_BROKER, 56, "KAFKA_STORAGE_ERROR", _MAYBE, "the disk failed, at an unknown byte"),
    ProduceErrorRule(
        _BROKER, 59, "UNKNOWN_PRODUCER_ID", _MAYBE, "about a sequence, whose earlier attempt is open"
    ),
    ProduceErrorRule(
        _BROKER, 76, "UNSUPPORTED_COMPRESSION_TYPE", _NO, "the format is verified before the append"
    ),
    ProduceErrorRule(_BROKER, 87, "INVALID_RECORD", _NO, "records are verified before the append"),
    ProduceErrorRule(
        _BROKER, 90, "PRODUCER_FENCED", _MAYBE, "about a producer, whose earlier attempts are open"
    ),
    ProduceErrorRule(
        _PYTHON, "KafkaTimeoutError", "delivery timeout", _MAYBE, "waiting or in flight, the future can't say"
    ),
    ProduceErrorRule(
        _PYTHON, "KafkaConnectionError", "connection lost", _MAYBE, "the request may have arrived"
    ),
    ProduceErrorRule(
        _PYTHON, "NodeNotReadyError", "node not ready", _MAYBE, "also raised when a connection pauses"
    ),
    ProduceErrorRule(_PYTHON, "Cancelled", "cancelled", _MAYBE, "also raised for requests in flight"),
    ProduceErrorRule(
        _PYTHON, "CorrelationIdError", "mixed-up answers", _MAYBE, "which request this answered is unknown"
    ),
    ProduceErrorRule(
        _PYTHON, "KafkaProtocolError", "an answer that can't be parsed", _MAYBE, "its content is unknown"
    ),
    ProduceErrorRule(
        _PYTHON, "IllegalStateError", "aborted at close", _MAYBE, "in flight or not, the future can't say"
    ),
    ProduceErrorRule(_RD, -195, "_TRANSPORT", _MAYBE, "the connection broke, the request may have arrived"),
    ProduceErrorRule(
        _RD, -192, "_MSG_TIMED_OUT", _MAYBE, "waiting or in flight, librdkafka's Python wrapper can't say"
    ),
    ProduceErrorRule(_RD, -185, "_TIMED_OUT", _MAYBE, "the request may have arrived"),
    ProduceErrorRule(_RD, -190, "_UNKNOWN_PARTITION", _NO, "never assigned to a broker"),
    ProduceErrorRule(_RD, -188, "_UNKNOWN_TOPIC", _NO, "never assigned to a broker"),
    ProduceErrorRule(_RD, -184, "_QUEUE_FULL", _NO, "refused by the local queue"),
    ProduceErrorRule(_RD, -152, "_PURGE_QUEUE", _NO, "purged from the local queue"),
    ProduceErrorRule(_RD, -151, "_PURGE_INFLIGHT", _MAYBE, "purged while a broker had it"),
    ProduceErrorRule(_RD, -150, "_FATAL", _MAYBE, "the producer gave up; earlier attempts are open"),
    ProduceErrorRule(_RD, -197, "_DESTROY", _MAYBE, "the client ended while it was under way"),
)

_BY_KEY = {(row.source, row.key): row for row in TABLE}
_UNKNOWN = "not in the table, so unknown"
_RETRIED = "an earlier attempt of the library may have been appended"


def raised_by_send(text: str) -> Classified:
    """An error raised by the library's own call, before the record was queued."""
    return Classified(OperationType.FAIL, f"{text}: raised before anything was sent")


def classify(source: ErrorSource, key: int | str, *, only_attempt: bool, acks: str) -> Classified:
    """The outcome of a queued record, given its error.

    Args:
        source: the source of the error.
        key: the broker's or librdkafka's code, or the name of kafka-python's class.
        only_attempt: whether the library sends a record at most once.
        acks: ``all``, ``1`` or ``0``.
    """
    return judged(_BY_KEY.get((source, key)), only_attempt=only_attempt, acks=acks)


def judged(row: ProduceErrorRule | None, *, only_attempt: bool, acks: str) -> Classified:
    """The outcome of a queued record by the row of its error, if there is one; see `classify`."""
    if row is None:
        return Classified(OperationType.INFO, _UNKNOWN)
    none_appended = row.appended is Appended.NO or (
        row.appended is Appended.NO_UNLESS_AWAITED and acks != "all"
    )
    if not none_appended:
        return Classified(OperationType.INFO, row.reason)
    if not only_attempt:
        return Classified(OperationType.INFO, _RETRIED)
    return Classified(OperationType.FAIL, row.reason)
