"""Classifies errors of commits: the transaction is not committed (fail), or it may be (info).

A library retries by itself when a connection breaks or a coordinator moves.  An earlier attempt may have been
executed, its answer lost, and the id initialised again by another producer, which fences only after the end
of the commit.  Then the next attempt is refused although the transaction is committed.  So the refusal of a
coordinator proves something only if the attempt was provably the only one.  After any unknown error the
outcome is unknown.
"""

from enum import StrEnum
from typing import NamedTuple

from checkers.history.operations import OperationType
from harness.clients.errors import Classified, ErrorSource


class Committed(StrEnum):
    """Whether an attempt that ended with an error may have committed the transaction."""

    NO = "no"
    MAYBE = "maybe"
    NEVER_ASKED = "never asked"
    """The library itself refused, and sent no request in this or any other attempt."""


class TransactionErrorRule(NamedTuple):
    """One error: Kafka's code or the library's name for it, and its meaning for the transaction."""

    source: ErrorSource
    key: int | str
    name: str
    committed: Committed
    reason: str


_NO, _MAYBE, _NEVER = Committed.NO, Committed.MAYBE, Committed.NEVER_ASKED
_BROKER, _PYTHON, _RD = ErrorSource.BROKER, ErrorSource.KAFKA_PYTHON, ErrorSource.LIBRDKAFKA
_JAVA = ErrorSource.JAVA

TABLE: tuple[TransactionErrorRule, ...] = (
    TransactionErrorRule(
        _BROKER, -1, "UNKNOWN_SERVER_ERROR", _MAYBE, "raised anywhere in the coordinator, before or after"
    ),
    TransactionErrorRule(
        _BROKER, 7, "REQUEST_TIMED_OUT", _MAYBE, "the decision may be in the coordinator's log"
    ),
    TransactionErrorRule(
        _BROKER, 13, "NETWORK_EXCEPTION", _MAYBE, "the connection broke, the request may have arrived"
    ),
    TransactionErrorRule(
        _BROKER, 14, "COORDINATOR_LOAD_IN_PROGRESS", _NO, "the coordinator has not read its log yet"
    ),
    TransactionErrorRule(
        _BROKER,
        15,
        "COORDINATOR_NOT_AVAILABLE",
        _MAYBE,
        "also answered when the append of the decision failed to reach enough replicas",
    ),
    TransactionErrorRule(
        _BROKER, 16, "NOT_COORDINATOR", _MAYBE, "also answered when it was deposed while it appended"
    ),
    TransactionErrorRule(
        _BROKER, 47, "INVALID_PRODUCER_EPOCH", _NO, "epochs are compared before the decision"
    ),
    TransactionErrorRule(
        _BROKER, 48, "INVALID_TXN_STATE", _NO, "there is no such transaction to commit any more"
    ),
    TransactionErrorRule(
        _BROKER, 49, "INVALID_PRODUCER_ID_MAPPING", _NO, "the coordinator knows another producer by that id"
    ),
    TransactionErrorRule(
        _BROKER, 51, "CONCURRENT_TRANSACTIONS", _MAYBE, "a decision, perhaps this one, is being carried out"
    ),
    TransactionErrorRule(
        _BROKER, 53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", _NO, "permission is checked first"
    ),
    TransactionErrorRule(_BROKER, 90, "PRODUCER_FENCED", _NO, "epochs are compared before the decision"),
    TransactionErrorRule(
        _BROKER, 120, "TRANSACTION_ABORTABLE", _NO, "the coordinator demands an abort instead"
    ),
    TransactionErrorRule(
        _PYTHON, "KafkaTimeoutError", "no answer in time", _MAYBE, "the request may have arrived"
    ),
    TransactionErrorRule(
        _PYTHON, "KafkaConnectionError", "connection lost", _MAYBE, "the request may have arrived"
    ),
    TransactionErrorRule(_PYTHON, "KafkaError", "anything", _MAYBE, "the library uses it for many errors"),
    TransactionErrorRule(
        _JAVA, "TimeoutException", "no answer in time", _MAYBE, "the library goes on in the background"
    ),
    TransactionErrorRule(
        _JAVA, "DisconnectException", "connection lost", _MAYBE, "the request may have arrived"
    ),
    TransactionErrorRule(_JAVA, "KafkaException", "anything", _MAYBE, "the library uses it for many errors"),
    TransactionErrorRule(
        _JAVA, "IllegalStateException", "wrong state", _MAYBE, "an earlier request may be under way"
    ),
    TransactionErrorRule(
        _RD, -195, "_TRANSPORT", _MAYBE, "the connection broke, the request may have arrived"
    ),
    TransactionErrorRule(_RD, -185, "_TIMED_OUT", _MAYBE, "the library goes on in the background"),
    TransactionErrorRule(
        _RD, -172, "_STATE", _NEVER, "the library's own state forbids a commit, so it never asked"
    ),
    TransactionErrorRule(_RD, -150, "_FATAL", _MAYBE, "the library gave up; earlier attempts are open"),
    TransactionErrorRule(_RD, -144, "_FENCED", _NO, "epochs are compared before the decision"),
)

_BY_KEY = {(row.source, row.key): row for row in TABLE}
_UNKNOWN = "not in the table, so unknown"
_RETRIED = "an earlier attempt of the library may have been carried out"
REFUSED = "raised before anything was sent to the coordinator"


def classify_commit(source: ErrorSource, key: int | str, *, only_attempt: bool) -> Classified:
    """The outcome of a transaction whose commit was requested, given the error.

    Args:
        source: the source of the error.
        key: the broker's or librdkafka's code, or the name of kafka-python's class.
        only_attempt: whether the library provably sent at most one EndTxn.
    """
    row = _BY_KEY.get((source, key))
    if row is None:
        return Classified(OperationType.INFO, _UNKNOWN)
    if row.committed is Committed.NEVER_ASKED:
        return Classified(OperationType.FAIL, row.reason)
    if row.committed is Committed.MAYBE:
        return Classified(OperationType.INFO, row.reason)
    if not only_attempt:
        return Classified(OperationType.INFO, _RETRIED)
    return Classified(OperationType.FAIL, row.reason)
