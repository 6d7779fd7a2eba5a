"""The types of what is asked of the cluster by admin operations, and of what it answers.

The fields are those of docs/histories.md, as in `checkers.history.shapes`.
"""

from typing import Annotated

import msgspec

from checkers.history.bounds import PARTITIONS_MAX

Place = tuple[str, int]
Result = tuple[str, int, int, str | None]
"""Topic, partition, error code and message."""


class ElectionAsked(msgspec.Struct, frozen=True):
    """Partitions for which an election was asked; None: all of the cluster."""

    partitions: list[Place] | None = None


class PartitionsAnswered(msgspec.Struct, frozen=True):
    """What became of each of some partitions."""

    code: int
    results: list[Result]


class ReassignmentAsked(msgspec.Struct, frozen=True):
    """Replicas that were asked for, by partition; None: to cancel."""

    targets: list[tuple[str, int, list[int] | None]]


class TopicAltered(msgspec.Struct, frozen=True):
    """A config of a topic, and the value that it was to have; None: none of its own."""

    config: str
    value: str | None = None


class PartitionsAdded(msgspec.Struct, frozen=True):
    """How many partitions a topic was to have then."""

    count: Annotated[int, msgspec.Meta(ge=1, le=PARTITIONS_MAX)]


class HeartbeatSent(msgspec.Struct, frozen=True):
    """A heartbeat in a broker's name: its epoch, and how much of the metadata log it says to have applied."""

    epoch: int
    metadata_offset: int


class NodeConfigured(msgspec.Struct, frozen=True):
    """Properties of a node for its next start; None: to be taken out."""

    properties: dict[str, str | None]
