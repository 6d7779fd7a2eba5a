"""The types of requests and answers of admin operations.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  An invocation has the request.  A
completion has the request and the answer; `completed` joins them.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, fields

from checkers.history.bounds import PARTITIONS_MAX

Place = tuple[str, int]
Result = tuple[str, int, int, str | None]
"""Topic, partition, error code and message."""
ReassignmentTarget = tuple[str, int, tuple[int, ...] | None]
"""Topic, partition, and the ids of the replicas that were requested; None: to cancel."""
Endpoint = tuple[str, str, int]
"""Name of a listener, host, port."""


class AdminRequested(msgspec.Struct, frozen=True, kw_only=True):
    """What all requests report.

    Attributes:
        to: name of the node that was asked; unset where a client of the workload asked.
    """

    to: str | UnsetType = UNSET


class ElectionRequested(AdminRequested, frozen=True, kw_only=True):
    """Partitions for which an election was asked; None: all of the cluster."""

    partitions: tuple[Place, ...] | None = None


class ReassignmentRequested(AdminRequested, frozen=True, kw_only=True):
    """Replicas that were requested, by partition, and the limit for moving them; None: no limit."""

    targets: tuple[ReassignmentTarget, ...]
    throttle_bytes_per_s: int | None = None


class VoterRequested(AdminRequested, frozen=True, kw_only=True):
    """Disk of a voter that was to leave, or to join; None if not recorded."""

    directory_id: str | None = None


class VoterOffered(VoterRequested, frozen=True, kw_only=True):
    """Disk of a voter that was to join, and where the others reach it."""

    endpoints: tuple[Endpoint, ...] = ()


class FeatureRequested(AdminRequested, frozen=True, kw_only=True):
    """The level that a feature was to have."""

    level: int


class TopicAltered(AdminRequested, frozen=True, kw_only=True):
    """A config of a topic, and its requested value; None: the topic has no value of its own."""

    config: str
    value: str | None = None


class PartitionsAdded(AdminRequested, frozen=True, kw_only=True):
    """How many partitions a topic was to have then."""

    count: Annotated[int, msgspec.Meta(ge=1, le=PARTITIONS_MAX)]


class HeartbeatSent(AdminRequested, frozen=True, kw_only=True):
    """A heartbeat in a broker's name: its epoch, and how much of the metadata log it claims to have read."""

    epoch: int
    metadata_offset: int


class AdminAnswered(msgspec.Struct, frozen=True, kw_only=True):
    """What all answers report.

    Attributes:
        took_ms: how long the answer took; unset before it is recorded.
        code: Kafka's error code, 0 for none.
    """

    took_ms: int | UnsetType = UNSET
    code: int


class AnsweredInWords(AdminAnswered, frozen=True, kw_only=True):
    """An answer with a message; None where nothing came with it."""

    message: str | None = None


class PartitionsAnswered(AnsweredInWords, frozen=True, kw_only=True):
    """What became of each of some partitions."""

    results: tuple[Result, ...]


class HeartbeatAnswered(AdminAnswered, frozen=True, kw_only=True):
    """The controller's answer about the broker.

    Attributes:
        is_caught_up: whether it has what the controller wants it to have.
        is_fenced: whether it is fenced from now on.
        should_shut_down: whether it may end its process.
    """

    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


def _ended(asked: type[AdminRequested], answered: type[AdminAnswered]) -> type[msgspec.Struct]:
    """The fields of a request, and behind them those of an answer: a struct can't have both as bases."""
    own = ((field.name, field.type, msgspec.field(default=field.default)) for field in fields(answered))
    return msgspec.defstruct(f"{asked.__name__}Ended", own, bases=(asked,), frozen=True, kw_only=True)


ENDED: dict[type[AdminRequested], type[msgspec.Struct]] = {
    asked: _ended(asked, answered)
    for asked, answered in (
        (ElectionRequested, PartitionsAnswered),
        (ReassignmentRequested, PartitionsAnswered),
        (VoterRequested, AnsweredInWords),
        (VoterOffered, AnsweredInWords),
        (FeatureRequested, AnsweredInWords),
        (TopicAltered, AnsweredInWords),
        (PartitionsAdded, AnsweredInWords),
        (HeartbeatSent, HeartbeatAnswered),
    )
}
"""The type of a completion, by that of its invocation."""


def completed(asked: AdminRequested, answered: AdminAnswered) -> msgspec.Struct:
    """The value of a completion: what was asked and what was answered.

    Raises:
        TypeError: the answer is not one to this kind of request.
    """
    return ENDED[type(asked)](**asdict(asked), **asdict(answered))


class NodeConfigured(msgspec.Struct, frozen=True):
    """Properties of a node for its next start; None: to be taken out."""

    properties: dict[str, str | None]
