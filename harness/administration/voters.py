"""Requests that add and remove voters (KIP-853), each sent once to one node, and their answers' meaning."""

import base64
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

import msgspec
from kafka.protocol.metadata import MetadataRequest

from checkers.history.operations import OperationType
from harness.administration.schemas import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from harness.kafka.wire import Connection, Request, ResponseType

Address = tuple[str, int]
VoterEndpoint = tuple[str, str, int]
"""Name of the listener, host, port."""
_DIRECTORY_ID_CHARACTERS = 22


class VoterKey(msgspec.Struct, frozen=True):
    """Identity of a voter: ``node.id``, and its metadata log's ``directory.id`` (22 characters of base64)."""

    id: int
    directory_id: str


class VoterAnswer(msgspec.Struct, frozen=True):
    """The answer to one request.

    Attributes:
        code: Kafka's error code, 0 for none.
        message: Kafka's error message; None without one.
        took_ms: milliseconds from sending to the answer.
        forwarded: whether a broker forwarded the request; it sends it again if its connection breaks.
    """

    code: int
    message: str | None
    took_ms: int
    forwarded: bool = False


def add_voter(
    address: Address,
    cluster_id: str | None,
    voter: VoterKey,
    endpoints: Sequence[VoterEndpoint],
    timeout_ms: int,
) -> VoterAnswer:
    """Request that a voter is added; the answer comes once the new set of voters is committed (KIP-853).

    Args:
        address: a broker's or a controller's listener; among controllers only the leader accepts it.
        cluster_id: the request is refused if the cluster has another id; None is not checked.
        voter: the voter to add.
        endpoints: addresses at which the voters reach it; one must be of the controllers' first listener.
        timeout_ms: bound for the whole call, including connecting.

    Raises:
        WireError: no answer, so it may be done or not; or the node does not know this request.
        ValueError: the directory id is none.
    """
    listener = AddRaftVoterRequest.Listener
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter.id,
        voter_directory_id=directory_uuid(voter.directory_id),
        listeners=[listener(name=name, host=host, port=port) for name, host, port in endpoints],
        ack_when_committed=True,
    )
    return _ask(address, request, AddRaftVoterResponse, timeout_ms)


def remove_voter(address: Address, cluster_id: str | None, voter: VoterKey, timeout_ms: int) -> VoterAnswer:
    """Request that a voter is removed; the answer comes once the new set of voters is committed (KIP-853).

    Args:
        address: a broker's or a controller's listener; among controllers only the leader accepts it.
        cluster_id: the request is refused if the cluster has another id; None is not checked.
        voter: the voter to remove; both ids must equal those in the set of voters.
        timeout_ms: bound for the whole call, including connecting.

    Raises:
        WireError: no answer, so it may be done or not; or the node does not know this request.
        ValueError: the directory id is none.
    """
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter.id, voter_directory_id=directory_uuid(voter.directory_id)
    )
    return _ask(address, request, RemoveRaftVoterResponse, timeout_ms)


def directory_uuid(text: str) -> UUID:
    """The 16 bytes of a directory id that Kafka writes as 22 characters of URL-safe base64.

    Raises:
        ValueError: the text has another format.
    """
    message = f"got {text!r}, expected {_DIRECTORY_ID_CHARACTERS} characters of URL-safe base64"
    if len(text) != _DIRECTORY_ID_CHARACTERS:
        raise ValueError(message)
    try:
        return UUID(bytes=base64.b64decode(text + "==", altchars=b"-_", validate=True))
    except ValueError as error:
        raise ValueError(message) from error


def _ask(address: Address, request: Request, response_type: ResponseType, timeout_ms: int) -> VoterAnswer:
    began = time.monotonic()
    deadline_s = began + timeout_ms / 1000
    with Connection(*address, timeout_ms / 1000) as connection:
        connection.allow_until(deadline_s)
        forwarded = connection.supports(MetadataRequest)
        answer = connection.ask(request, response_type)
    took_ms = round((time.monotonic() - began) * 1000)
    return VoterAnswer(answer.error_code, answer.error_message or None, took_ms, forwarded)


class Done(StrEnum):
    """Whether the change is in a leader's log after this answer."""

    YES = "yes"
    NO = "no"
    NO_UNLESS_RETRIED = "no, unless a broker forwarded it twice"
    """The second attempt is also refused in this way if the first one succeeded."""
    MAYBE = "maybe"


class VoterAnswerRule(NamedTuple):
    """One answer and its meaning.

    Attributes:
        code: Kafka's error code.
        name: Kafka's name for it.
        message_part: text in the message; "" for no message, None for any.
        done: whether the change was made.
        reason: the reason for `done`.
    """

    code: int
    name: str
    message_part: str | None
    done: Done
    reason: str


class AnswerMeaning(NamedTuple):
    """Kafka's name for an answer, whether the change was done, and the reason."""

    name: str
    outcome: OperationType
    reason: str


_NO, _RETRIED, _MAYBE = Done.NO, Done.NO_UNLESS_RETRIED, Done.MAYBE
_TIMED_OUT, _NOT_LEADER = "REQUEST_TIMED_OUT", "NOT_LEADER_OR_FOLLOWER"

TABLE: tuple[VoterAnswerRule, ...] = (
    VoterAnswerRule(0, "NONE", None, Done.YES, "the new set of voters is committed"),
    VoterAnswerRule(
        -1, "UNKNOWN_SERVER_ERROR", None, _MAYBE, "the leader failed, before or after the append"
    ),
    VoterAnswerRule(6, _NOT_LEADER, "", _RETRIED, "it was not the leader when the request arrived"),
    VoterAnswerRule(6, _NOT_LEADER, None, _MAYBE, "it lost its leadership during the change"),
    VoterAnswerRule(
        7, _TIMED_OUT, "leader to handle previous", _RETRIED, "at once: another change is under way"
    ),
    VoterAnswerRule(
        7, _TIMED_OUT, "to establish HWM", _RETRIED, "at once: nothing is committed in this epoch yet"
    ),
    VoterAnswerRule(
        7, _TIMED_OUT, "to commit the latest", _RETRIED, "at once: the change before is not committed"
    ),
    VoterAnswerRule(
        7, _TIMED_OUT, "is not ready to receive", _RETRIED, "at once: the new voter can't be reached yet"
    ),
    VoterAnswerRule(
        7, _TIMED_OUT, "API_VERSIONS returned", _RETRIED, "before the append: the new voter does not answer"
    ),
    VoterAnswerRule(
        7, _TIMED_OUT, "lagging behind", _RETRIED, "before the append: no node with both ids has caught up"
    ),
    VoterAnswerRule(
        7, _TIMED_OUT, None, _MAYBE, "a real timeout: what the leader has appended may be committed later"
    ),
    VoterAnswerRule(
        8, "BROKER_NOT_AVAILABLE", None, _RETRIED, "the node is shutting down and refused the request"
    ),
    VoterAnswerRule(31, "CLUSTER_AUTHORIZATION_FAILED", None, _NO, "permission is checked first"),
    VoterAnswerRule(35, "UNSUPPORTED_VERSION", None, _NO, "kraft.version is 0: the voters are configured"),
    VoterAnswerRule(41, "NOT_CONTROLLER", None, _RETRIED, "it was not the active controller"),
    VoterAnswerRule(
        42, "INVALID_REQUEST", None, _NO, "ids, endpoints and versions are checked before the append"
    ),
    VoterAnswerRule(104, "INCONSISTENT_CLUSTER_ID", None, _NO, "checked first"),
    VoterAnswerRule(126, "DUPLICATE_VOTER", None, _RETRIED, "a voter has this id, with any directory"),
    VoterAnswerRule(127, "VOTER_NOT_FOUND", None, _RETRIED, "no voter has both ids, or it is the last one"),
)
"""The first rule that fits counts.  Source: Kafka 3.9 to 4.3, AddVoterHandler, RemoveVoterHandler,
LeaderState, KafkaRaftClient; for a broker's retries, NodeToControllerChannelManager."""

_UNKNOWN = "not in the table, so unknown"
_TWICE = "but a broker that loses its connection sends the request again; the first one may have succeeded"


def outcome_of(answer: VoterAnswer) -> OperationType:
    """Whether the change was done (ok), certainly never will be (fail), or may be (info)."""
    return meaning_of(answer).outcome


def meaning_of(answer: VoterAnswer) -> AnswerMeaning:
    """Meaning of an answer, with the reason; the outcome of an unknown code is open."""
    for row in TABLE:
        if row.code == answer.code and _fits(row.message_part, answer.message or ""):
            return _meaning(row, forwarded=answer.forwarded)
    return AnswerMeaning(f"error {answer.code}", OperationType.INFO, _UNKNOWN)


def _fits(part: str | None, message: str) -> bool:
    return part is None or (part in message if part else not message)


def _meaning(row: VoterAnswerRule, *, forwarded: bool) -> AnswerMeaning:
    if row.done is Done.YES:
        return AnswerMeaning(row.name, OperationType.OK, row.reason)
    if row.done is Done.MAYBE:
        return AnswerMeaning(row.name, OperationType.INFO, row.reason)
    if row.done is Done.NO_UNLESS_RETRIED and forwarded:
        return AnswerMeaning(row.name, OperationType.INFO, f"{row.reason}; {_TWICE}")
    return AnswerMeaning(row.name, OperationType.FAIL, row.reason)
