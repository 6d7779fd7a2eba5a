"""The types of polls of consumers, and of final reads of each partition.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import Offset, Partition, RecordValue, written
from checkers.history.operations import INFO, OK, Decoded, History


class Isolation(StrEnum):
    """Values of Kafka's property ``isolation.level``."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


Records = list[tuple[Partition, list[Offset], list[RecordValue]]]


class Membership(NamedTuple):
    """The identity of a member for its group's coordinator: its id, and the generation of its group."""

    member: str
    generation: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class PollRequested(msgspec.Struct, frozen=True, omit_defaults=True):
    """The client that polls, and its isolation level."""

    client: str
    isolation: Isolation


class GroupPollRequested(PollRequested, frozen=True):
    """The client that polls, its isolation level, and its group, if any."""

    group: str | None = None


class Polled(GroupPollRequested, frozen=True, kw_only=True):
    """The result of a poll.

    Attributes:
        records: the records in runs of one partition each, in the order in which they were returned.
        assigned: offsets at which the consumer should begin, if its group assigned it new partitions.
        membership: membership of the consumer, if the group reported it; None if it reported that there is
            none.
    """

    records: Records
    assigned: list[tuple[Partition, Offset]] | None = None
    membership: Membership | UnsetType | None = UNSET


class FinalReadRequested(PollRequested, frozen=True):
    """The client of a final read, and the partition that it reads to the end."""

    partition: Partition


class FinalReadLimits(FinalReadRequested, frozen=True):
    """Offsets between which a final read should read, and where it stopped; None if not recorded."""

    start: Offset | None = None
    end: Offset | None = None
    position: Offset | None = None


class FinalReadPart(FinalReadLimits, frozen=True):
    """The part that a final read returned before it gave up; all fields are None if it has no position."""

    records: Records = written([])


class FinalRead(FinalReadRequested, frozen=True):
    """The result of a complete final read."""

    start: Offset
    end: Offset
    position: Offset
    records: Records


def final_limits(history: History) -> list[Decoded[FinalReadLimits]]:
    """All final reads that recorded limits, complete or not, without their records.

    Raises:
        msgspec.ValidationError: one is not as docs/histories.md says.
    """
    ended = (operation for operation in history.of("final-read") if operation.type in {OK, INFO})
    return [Decoded(operation, msgspec.convert(operation.value, FinalReadLimits)) for operation in ended]
