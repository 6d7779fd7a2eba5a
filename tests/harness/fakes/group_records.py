"""Records of groups of KIP-848's protocol by hand, as coordinators write them to ``__consumer_offsets``."""

import struct
from collections.abc import Mapping

TOPIC_ID = "AAAAAAAAAAEAAAAAAAAAAg"
"""The id of `assigned`, as Kafka prints it."""
_TOPIC = struct.pack(">qq", 1, 2)
_STABLE = 0


def group_key(group: str, kind: int = 3) -> bytes:
    """A ConsumerGroupMetadataKey; of kind 6, a ConsumerGroupTargetAssignmentMetadataKey."""
    return struct.pack(">h", kind) + _text(group)


def member_key(group: str, member: str) -> bytes:
    """A ConsumerGroupCurrentMemberAssignmentKey: kind 8, group, member id."""
    return group_key(group, 8) + _text(member)


def epoch(number: int, *, version: int = 0) -> bytes:
    """The value of either of `group_key`, without tagged fields."""
    return struct.pack(">hib", version, number, 0)


def assigned(
    number: int, held: Mapping[int, int], *, tag: int = 0, epochs: int | None = None, before: bytes = b""
) -> bytes:
    """A ConsumerGroupCurrentMemberAssignmentValue.

    Args:
        number: the member's epoch.
        held: the partitions of one topic, and the epochs in which they were assigned.
        tag: tag of the field with these epochs.
        epochs: how many of the epochs are written, if not all.
        before: a tagged field before that one.
    """
    written = list(held.values())[:epochs]
    field = bytes([len(written) + 1]) + b"".join(struct.pack(">i", each) for each in written)
    tagged = bytes([1 + bool(before)]) + before + bytes([tag, len(field)]) + field
    partitions = bytes([len(held) + 1]) + b"".join(struct.pack(">i", each) for each in held)
    return struct.pack(">hiib", 0, number, number, _STABLE) + b"\2" + _TOPIC + partitions + tagged + b"\1\0"


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
