"""Decodes records about groups in ``__consumer_offsets``.

A key consists of its type, the group's id and, for a record about a member, the member's id.  Type 2
(GroupMetadata) is a classic group's; its value begins with the type of the protocol and the generation, and
from version 4 on its texts have compact lengths.

The types of KIP-848's protocol are 3 (ConsumerGroupMetadata), 5 (ConsumerGroupMemberMetadata), 6
(ConsumerGroupTargetAssignmentMetadata) and 8 (ConsumerGroupCurrentMemberAssignment); Kafka's 4.0 to 4.4 write
version 0 of each value.  All of them but type 5, of which only the key is decoded, begin with an epoch.  That
of a member goes on with its previous epoch, its state, the partitions that are assigned
to it, and those that it still has to revoke.  A record without a value deletes what its key names.
"""

import base64
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from checkers.history.observed import Held
from harness.kafka.segments.varints import unsigned

What = Literal["classic", "group", "subscription", "target", "member", "unreadable"]
_KINDS: Mapping[int, What] = {2: "classic", 3: "group", 5: "subscription", 6: "target", 8: "member"}
_OF_MEMBERS = frozenset({"subscription", "member"})
_VERSION = 0
_COMPACT_SINCE = 4
"""First version of GroupMetadata whose texts have compact lengths."""
_SHORT, _NUMBER, _HEAD = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">hi")
_MEMBER_HEAD = struct.Struct(">hiib")
"""Version, epoch, previous epoch and state of a member."""
_UUID_BYTES = 16
_ASSIGNMENT_EPOCHS = 0
"""The tag of the field (KIP-1251)."""
_T = TypeVar("_T")


class GroupRecord(NamedTuple):
    """Content of a record; the fields are those of `checkers.history.observed.GroupWritten`."""

    what: What
    group: str = ""
    member: str = ""
    epoch: int | None = None
    held: Sequence[Held] = ()


def group_record_of(key: bytes | None, value: bytes | None) -> GroupRecord | None:
    """Decode a record; None if it has another type, `unreadable` if its bytes are not as expected."""
    if key is None or len(key) < _SHORT.size:
        return None
    what = _KINDS.get(_SHORT.unpack_from(key)[0])
    if what is None:
        return None
    try:
        return _decoded(what, key, value)
    except (ValueError, IndexError, struct.error):
        return GroupRecord("unreadable")


def text_at(data: bytes, at: int) -> tuple[str, int]:
    """A text after its length of two bytes, and the position after it.

    Raises:
        ValueError: it is longer than the rest of the bytes, or not UTF-8.
        struct.error: its length is cut short.
    """
    (size,) = _SHORT.unpack_from(data, at)
    at += _SHORT.size
    if not 0 <= size <= len(data) - at:
        raise ValueError("a text that is longer than its record")
    return data[at : at + size].decode(), at + size


def _decoded(what: What, key: bytes, value: bytes | None) -> GroupRecord:
    group, at = text_at(key, _SHORT.size)
    member, at = text_at(key, at) if what in _OF_MEMBERS else ("", at)
    if value is None:
        return GroupRecord(what, group, member)
    if what == "subscription":
        return GroupRecord(what, group, member, epoch=0)
    if what == "classic":
        return GroupRecord(what, group, member, _generation(value))
    version, epoch = _HEAD.unpack_from(value)
    if version != _VERSION:
        raise ValueError(f"a record of version {version}")
    return GroupRecord(what, group, member, epoch, _held(value) if what == "member" else ())


def _generation(value: bytes) -> int:
    """The generation of a classic group, after the type of its protocol."""
    (version,) = _SHORT.unpack_from(value)
    if version < _COMPACT_SINCE:
        _, at = text_at(value, _SHORT.size)
    else:
        size, at = unsigned(value, _SHORT.size)
        at += size - 1
    return _number(value, at)[0]


def _held(value: bytes) -> list[Held]:
    """Partitions that are assigned to a member, and those that it still has to revoke."""
    at, found = _MEMBER_HEAD.size, list[Held]()
    for _ in range(2):
        topics, at = _array(value, at, _topic)
        found += [held for topic in topics for held in topic]
    return found


def _topic(data: bytes, at: int) -> tuple[list[Held], int]:
    """The partitions of one topic, and the position after them."""
    name = base64.urlsafe_b64encode(data[at : at + _UUID_BYTES])[:-2].decode()
    partitions, at = _array(data, at + _UUID_BYTES, _number)
    epochs: list[int] = []
    count, at = unsigned(data, at)
    for _ in range(count):
        tag, at = unsigned(data, at)
        size, at = unsigned(data, at)
        if tag == _ASSIGNMENT_EPOCHS:
            epochs, _ = _array(data, at, _number)
        at += size
    if epochs and len(epochs) != len(partitions):
        raise ValueError(f"{len(epochs)} epochs of {len(partitions)} partitions")
    known: list[int | None] = [*epochs] if epochs else [None] * len(partitions)
    return [(name, *one) for one in zip(partitions, known, strict=True)], at


def _array(data: bytes, at: int, read: Callable[[bytes, int], tuple[_T, int]]) -> tuple[list[_T], int]:
    """The elements of an array, whose length is stored plus one, 0 for null, and the position after it."""
    size, at = unsigned(data, at)
    if size > len(data):
        raise ValueError(f"{size} elements in {len(data)} bytes")
    found: list[_T] = []
    for _ in range(size - 1):
        element, at = read(data, at)
        found.append(element)
    return found, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    return _NUMBER.unpack_from(data, at)[0], at + _NUMBER.size
