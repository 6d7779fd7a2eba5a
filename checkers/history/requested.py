"""The types of requests and answers of admin operations.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  An invocation has the request.  A
completion has the request and the answer; `completed` joins them.
"""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, fields

from checkers.history.bounds import PARTITIONS_MAX

Place = tuple[str, int]
Result = tuple[str, int, int, str | None]
"""Topic, partition, error code and error message."""
ReassignmentTarget = tuple[str, int, tuple[int, ...] | None]
"""Topic, partition, and ids of the requested replicas; None to cancel."""
Endpoint = tuple[str, str, int]
"""Name of a listener, host, port."""


class AdminRequested(msgspec.Struct, frozen=True, kw_only=True):
    """The common fields of all requests.

    Attributes:
        to: name of the node that was asked; unset if a client of the workload sent the request.
    """

    to: str | UnsetType = UNSET


class ElectionRequested(AdminRequested, frozen=True, kw_only=True):
    """Partitions for which an election was requested; None for all partitions of the cluster."""

    partitions: tuple[Place, ...] | None = None


class ReassignmentRequested(AdminRequested, frozen=True, kw_only=True):
    """Requested replicas by partition, and the throttle for moving them; None for no throttle."""

    targets: tuple[ReassignmentTarget, ...]
    throttle_bytes_per_s: int | None = None


class VoterRequested(AdminRequested, frozen=True, kw_only=True):
    """Disk of a voter that should leave or join; None if not recorded."""

    directory_id: str | None = None


class VoterOffered(VoterRequested, frozen=True, kw_only=True):
    """Disk of a voter that should join, and its endpoints for the other nodes."""

    endpoints: tuple[Endpoint, ...] = ()


class UpgradeType(StrEnum):
    """What a change of a feature's level may be (KIP-778)."""

    UPGRADE = "upgrade"
    """It must not lower the level."""
    SAFE_DOWNGRADE = "safe-downgrade"
    """It must not raise the level, and no metadata may be lost."""
    UNSAFE_DOWNGRADE = "unsafe-downgrade"
    """It must not raise the level; metadata may be lost."""


class FeatureRequested(AdminRequested, frozen=True, kw_only=True):
    """The requested level of a feature.

    Attributes:
        level: the level; 0 turns the feature off.
        upgrade_type: what the change may be; unset in older runs, which only upgraded.
        validate_only: whether the change should only be checked; unset if it should be made.
    """

    level: int
    upgrade_type: UpgradeType | UnsetType = UNSET
    validate_only: bool | UnsetType = UNSET


class TopicAltered(AdminRequested, frozen=True, kw_only=True):
    """A config of a topic and its requested value; None if the topic should have no own value."""

    config: str
    value: str | None = None


class BrokersAltered(AdminRequested, frozen=True, kw_only=True):
    """The requested value of a config that is the default of all brokers."""

    value: str


class BrokerAltered(AdminRequested, frozen=True, kw_only=True):
    """A config of one broker and its requested value; None if the broker should have no own value."""

    config: str
    value: str | None = None


class BrokerUnregistered(AdminRequested, frozen=True, kw_only=True):
    """A request to remove the registration of a broker, whose id is the key."""


class ControllerUnregistered(AdminRequested, frozen=True, kw_only=True):
    """A request to remove the registration of a controller, whose id is the key."""


class GroupAltered(AdminRequested, frozen=True, kw_only=True):
    """A config of a group and its requested value."""

    config: str
    value: str


class PartitionsAdded(AdminRequested, frozen=True, kw_only=True):
    """The requested number of partitions of a topic."""

    count: Annotated[int, msgspec.Meta(ge=1, le=PARTITIONS_MAX)]


class HeartbeatSent(AdminRequested, frozen=True, kw_only=True):
    """A heartbeat in a broker's name: the epoch, and the claimed end of the metadata log that was read."""

    epoch: int
    metadata_offset: int


class AdminAnswered(msgspec.Struct, frozen=True, kw_only=True):
    """The common fields of all answers.

    Attributes:
        took_ms: how long the answer took; unset before it is recorded.
        code: Kafka's error code, 0 for none.
    """

    took_ms: int | UnsetType = UNSET
    code: int


class AnsweredInWords(AdminAnswered, frozen=True, kw_only=True):
    """An answer with a message; None if there was no message."""

    message: str | None = None


class PartitionsAnswered(AnsweredInWords, frozen=True, kw_only=True):
    """The results for each of some partitions."""

    results: tuple[Result, ...]


class HeartbeatAnswered(AdminAnswered, frozen=True, kw_only=True):
    """The controller's answer about the broker.

    Attributes:
        is_caught_up: whether the broker has caught up, according to the controller.
        is_fenced: whether the broker is now fenced.
        should_shut_down: whether the broker may end its process.
    """

    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


def _ended(asked: type[AdminRequested], answered: type[AdminAnswered]) -> type[msgspec.Struct]:
    """A struct with the fields of a request, then those of an answer; a struct can't have both as bases."""
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
        (BrokersAltered, AnsweredInWords),
        (BrokerAltered, AnsweredInWords),
        (BrokerUnregistered, AnsweredInWords),
        (ControllerUnregistered, AnsweredInWords),
        (GroupAltered, AnsweredInWords),
        (PartitionsAdded, AnsweredInWords),
        (HeartbeatSent, HeartbeatAnswered),
    )
}
"""The type of a completion, by that of its invocation."""


def completed(asked: AdminRequested, answered: AdminAnswered) -> msgspec.Struct:
    """The value of a completion: the request and the answer.

    Raises:
        TypeError: the answer does not belong to this kind of request.
    """
    return ENDED[type(asked)](**asdict(asked), **asdict(answered))


class NodeConfigured(msgspec.Struct, frozen=True):
    """Properties of a node for its next start; None if the property should be removed."""

    properties: dict[str, str | None]
