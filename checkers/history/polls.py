"""The types of what consumers poll, and of what is read of each partition at the end.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import Offset, Partition, written
from checkers.history.operations import INFO, OK, History, Told


class Isolation(StrEnum):
    """Values of Kafka's property ``isolation.level``."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


Records = list[tuple[Partition, list[Offset], list[Any]]]
Membership = tuple[str, Annotated[int, msgspec.Meta(ge=0, lt=2**31)]]
"""Id of a group's member, and the group's generation."""


class PollAsked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who polls, and at which isolation."""

    client: str
    isolation: Isolation


class GroupPollAsked(PollAsked, frozen=True):
    """And for which group, if any."""

    group: str | None = None


class Polled(GroupPollAsked, frozen=True, kw_only=True):
    """What a poll returned.

    Attributes:
        records: by stretches of one partition, in the order in which they were returned.
        assigned: where the consumer was to begin if its group assigned it anew.
        membership: of the member, where the group told; None where it told that there is none.
    """

    records: Records
    assigned: list[tuple[Partition, Offset]] | None = None
    membership: Membership | UnsetType | None = UNSET


class FinalReadAsked(PollAsked, frozen=True):
    """Who reads which partition to its end."""

    partition: Partition


class FinalReadLimits(FinalReadAsked, frozen=True):
    """Between which offsets a final read was to read, and where it stopped; None where it told nothing."""

    start: Offset | None = None
    end: Offset | None = None
    position: Offset | None = None


class FinalReadPart(FinalReadLimits, frozen=True):
    """What a final read returned before it gave up; without a position it told nothing."""

    records: Records = written([])


class FinalRead(FinalReadAsked, frozen=True):
    """What a whole final read returned."""

    start: Offset
    end: Offset
    position: Offset
    records: Records


def final_limits(history: History) -> list[Told[FinalReadLimits]]:
    """All final reads that told something, whole or not; their records are left out.

    Raises:
        msgspec.ValidationError: one is not as docs/histories.md says.
    """
    ended = (operation for operation in history.of("final-read") if operation.type in {OK, INFO})
    return [Told(operation, msgspec.convert(operation.value, FinalReadLimits)) for operation in ended]
