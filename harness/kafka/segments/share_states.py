"""Decodes records of ``__share_group_state`` (KIP-932: ShareSnapshotKey, ShareUpdateKey and their values).

A key consists of its type, the group's id, the topic's id and the number of the partition.  Type 0 is a
snapshot, which has the whole state of the share partition, type 1 an update, which has what has changed.
Both values have version 0, which is flexible: the length of the array is a varint, stored plus one.  Tagged
fields follow, which are skipped.  A snapshot without a value deletes the state.
"""

import base64
import struct
from typing import NamedTuple

from checkers.history.share_states import Kind
from harness.kafka.segments.group_records import text_at
from harness.kafka.segments.varints import unsigned

_KINDS = {0: Kind.SNAPSHOT, 1: Kind.UPDATE}
_VERSION = 0
_SHORT = struct.Struct(">h")
_PLACE = struct.Struct(">16si")
"""Topic id and partition."""
_SNAPSHOT_HEAD, _UPDATE_HEAD = struct.Struct(">hiiiqqq"), struct.Struct(">hiiq")
"""Version, snapshot epoch, state epoch (snapshots), leader epoch, start offset, two times (snapshots)."""
_BATCH = struct.Struct(">qqbh")
"""First and last offset, delivery state and delivery count."""


class SharePlace(NamedTuple):
    """A share partition: id of the group, id of the topic as Kafka prints it, number of the partition."""

    group: str
    topic_id: str
    partition: int


class StateBatch(NamedTuple):
    """Records with the same state: offset of the first and of the last, delivery state and delivery count."""

    first: int
    last: int
    state: int
    count: int  # type: ignore[assignment]  # the field has the name of a method of tuples


class ShareStateRecord(NamedTuple):
    """Content of a record; `kind` is `Kind.REMOVED` for a deletion, and the rest is empty then.

    Attributes:
        place: the share partition.
        kind: `Kind`.
        snapshot_epoch: number of the snapshot, or of the one that an update belongs to.
        state_epoch: of a snapshot; -1 for an update.
        share_epoch: leader epoch of the partition that is read.
        start: start offset of the share partition; -1 if there is none yet, or an update does not change it.
        batches: states of records.
    """

    place: SharePlace
    kind: int = Kind.REMOVED
    snapshot_epoch: int = -1
    state_epoch: int = -1
    share_epoch: int = -1
    start: int = -1
    batches: tuple[StateBatch, ...] = ()


def share_state_of(key: bytes | None, value: bytes | None) -> ShareStateRecord | None:
    """Decode a record; None if it has a key of another type, which Kafka skips.

    Raises:
        ValueError: its bytes are not as expected.
    """
    try:
        if key is None:
            raise ValueError("a record without a key")
        kind = _KINDS.get(_SHORT.unpack_from(key)[0])
        if kind is None:
            return None
        group, at = text_at(key, _SHORT.size)
        topic, partition = _PLACE.unpack_from(key, at)
        place = SharePlace(group, base64.urlsafe_b64encode(topic)[:-2].decode(), partition)
        if value is None:
            return ShareStateRecord(place)
        return _decoded(place, kind, value)
    except (IndexError, struct.error) as error:
        raise ValueError(f"a state that is cut short: {error}") from None


def _decoded(place: SharePlace, kind: Kind, value: bytes) -> ShareStateRecord:
    if kind is Kind.SNAPSHOT:
        version, snapshot, state, leader, start, *_ = _SNAPSHOT_HEAD.unpack_from(value)
        at = _SNAPSHOT_HEAD.size
    else:
        version, snapshot, leader, start = _UPDATE_HEAD.unpack_from(value)
        state, at = -1, _UPDATE_HEAD.size
    if version != _VERSION:
        raise ValueError(f"a state of version {version}")
    batches, at = _batches(value, at)
    if (end := _untagged(value, at)) != len(value):
        raise ValueError(f"{len(value) - end} bytes after a state")
    return ShareStateRecord(place, kind, snapshot, state, leader, start, batches)


def _batches(data: bytes, at: int) -> tuple[tuple[StateBatch, ...], int]:
    size, at = unsigned(data, at)
    if not 0 < size <= len(data):
        raise ValueError(f"{size - 1} batches in {len(data)} bytes")
    found: list[StateBatch] = []
    for _ in range(size - 1):
        batch = StateBatch(*_BATCH.unpack_from(data, at))
        if not 0 <= batch.first <= batch.last:
            raise ValueError(f"a batch from {batch.first} to {batch.last}")
        found.append(batch)
        at = _untagged(data, at + _BATCH.size)
    return tuple(found), at


def _untagged(data: bytes, at: int) -> int:
    """The position after the tagged fields."""
    count, at = unsigned(data, at)
    for _ in range(count):
        _, at = unsigned(data, at)
        size, at = unsigned(data, at)
        if size > len(data) - at:
            raise ValueError("a field that is longer than its record")
        at += size
    return at
