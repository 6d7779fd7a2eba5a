"""The types of records that members of share groups receive and acknowledge, and of groups' start offsets.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import LARGEST, Offset, Partition, RecordValue

DeliveryCount = Annotated[int, msgspec.Meta(ge=1, lt=2**15)]
AcknowledgeType = Literal["accept", "release", "reject", "renew"]


class ShareMember(msgspec.Struct, frozen=True):
    """A consumer in a share group.

    Attributes:
        client: the client library.
        group: id of the share group.
        consumer: number of the consumer among those that its process opened one after the other.
    """

    client: str
    group: str
    consumer: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class SharePollRequested(ShareMember, frozen=True):
    """The polling consumer, and whether it may fetch records before they are polled."""

    prefetches: bool


class SharePolled(SharePollRequested, frozen=True):
    """The result of a poll: runs of one partition with offsets, values and delivery counts.

    Attributes:
        records: what the group delivered to the member.
        renewed: runs of one partition with offsets: what the member holds already.  A client returns records
            again whose locks it renewed (KIP-1222); no broker delivered these again.
    """

    records: list[tuple[Partition, list[Offset], list[RecordValue], list[DeliveryCount]]]
    renewed: list[tuple[Partition, list[Offset]]] | UnsetType = UNSET


class Acknowledging(ShareMember, frozen=True):
    """Records that a member acknowledges: runs of one partition with offsets and types."""

    acknowledgements: list[tuple[Partition, list[Offset], list[AcknowledgeType]]]


class Acknowledged(Acknowledging, frozen=True):
    """Acknowledged records, and the partitions whose answer is an error, each with the error."""

    refused: list[tuple[Partition, str]]


class StartsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """A deletion of the start offsets of a share group in a topic (KIP-932, DeleteShareGroupOffsets).

    Attributes:
        turn: number of the break, of those that its process made, in which the members had left; one process
            sends all these requests for a group, one after the other.
        to: id of the broker that was asked.
        code: Kafka's error code; unset if there is no answer.
    """

    topic: str
    turn: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    to: int
    code: int | UnsetType = UNSET


class StartAltered(StartsDeleted, frozen=True, kw_only=True):
    """A change of the start offset of one share partition (KIP-932, AlterShareGroupOffsets)."""

    partition: Partition
    offset: Offset


class DeadLettersRequested(msgspec.Struct, frozen=True):
    """A read of a partition of the dead-letter queue of a share group (KIP-1191).

    Attributes:
        group: id of the only share group that uses the topic as its dead-letter queue.
        partition: number of the topic's partition.
    """

    group: str
    partition: Partition


class DeadLetters(DeadLettersRequested, frozen=True):
    """The records of the partition, from its start to its high watermark.

    Attributes:
        end: the high watermark.
        records: offset, headers of the dead-letter queue by name, and value; null if the record has none.
    """

    end: Offset
    records: list[tuple[Offset, dict[str, str], int | str | None]]


_NOT_HELD = ("InvalidRecordStateException", "INVALID_RECORD_STATE")
"""How errors begin by which brokers refuse acknowledgements of records that the member does not hold."""


def is_not_held(error: str) -> bool:
    """Whether an error says that the member does not hold the records that it acknowledges."""
    return error.startswith(_NOT_HELD)


def polled_problem(value: SharePolled) -> str | None:
    """Why the runs of a poll are incomplete; None if they are complete."""
    if all(len(offsets) == len(values) == len(counts) for _, offsets, values, counts in value.records):
        return None
    return "Expected as many values and delivery counts as offsets"


def acknowledged_problem(value: Acknowledging) -> str | None:
    """Why the runs of acknowledgements are incomplete; None if they are complete."""
    if all(len(offsets) == len(types) for _, offsets, types in value.acknowledgements):
        return None
    return "Expected as many types as offsets"
