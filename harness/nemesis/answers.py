"""Makes a record for the history from Kafka's answer to an admin operation."""

from typing import NamedTuple

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from checkers.history.requested import AdminAnswered, AnsweredInWords, HeartbeatAnswered, PartitionsAnswered
from harness.administration import features
from harness.administration.elections import ElectionResult
from harness.administration.heartbeats import HeartbeatAnswer
from harness.administration.reassignments import ReassignmentResult
from harness.administration.registrations import UnregistrationAnswer
from harness.administration.settings import SettingAnswer

_REFUSED = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.INVALID_RECORD,
    }
)
"""Error codes of checks before any change is made: names, permissions, versions, arguments, policies.

INVALID_PARTITIONS (37) is not one of them: a broker that lost the controller's answer repeats the request,
and by then the topic already has the requested number of partitions.
"""


class RecordedAnswer(NamedTuple):
    """An answer as recorded in the history."""

    outcome: OperationType
    codes: tuple[int, ...]
    content: AdminAnswered


def of_partitions(
    code: int, message: str | None, results: tuple[ElectionResult | ReassignmentResult, ...]
) -> RecordedAnswer:
    """The record of an answer with a result for each of some partitions."""
    rows = tuple((one.topic, one.partition, one.code, one.message) for one in results)
    content = PartitionsAnswered(code=code, message=message, results=rows)
    if code or not results:
        return RecordedAnswer(_outcome(code), (code,), content)
    return RecordedAnswer(OperationType.OK, tuple(one.code for one in results), content)


def _outcome(code: int) -> OperationType:
    """The outcome of a whole request; a change that a former controller refuses may happen nevertheless."""
    if code == 0:
        return OperationType.OK
    return OperationType.FAIL if code in _REFUSED else OperationType.INFO


def in_words(answer: SettingAnswer) -> RecordedAnswer:
    """The record of an answer with one code and a message."""
    content = AnsweredInWords(code=answer.code, message=answer.message)
    return RecordedAnswer(_outcome(answer.code), (answer.code,), content)


def of_feature(answer: SettingAnswer) -> RecordedAnswer:
    """The record of an answer to a change of a feature's level."""
    content = AnsweredInWords(code=answer.code, message=answer.message)
    return RecordedAnswer(features.outcome_of(answer.code), (answer.code,), content)


def of_heartbeat(answer: HeartbeatAnswer) -> RecordedAnswer:
    """The record of the controller's answer to a broker."""
    content = HeartbeatAnswered(
        code=answer.code,
        is_caught_up=answer.is_caught_up,
        is_fenced=answer.is_fenced,
        should_shut_down=answer.should_shut_down,
    )
    return RecordedAnswer(answer.outcome, (answer.code,), content)


def of_unregistration(answer: UnregistrationAnswer) -> RecordedAnswer:
    """The record of an answer to the removal of a registration."""
    content = AnsweredInWords(code=answer.code, message=answer.message)
    return RecordedAnswer(answer.outcome, (answer.code,), content)
