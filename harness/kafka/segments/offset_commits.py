"""Decodes offset commits in batches of ``__consumer_offsets`` (OffsetCommitKey and OffsetCommitValue).

A key consists of its version (0 or 1; other records have others), group, topic and partition.  A value
begins with its version and the offset; the rest does not matter here.  A record without a value deletes an
offset.  Records about groups of KIP-848's protocol are decoded too (`group_records`).
"""

import struct
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from checkers.history.observed import CommitWritten
from harness.kafka.segments.batches import HEADER, varint
from harness.kafka.segments.compiled import HEADER_BYTES, batch_positions, checksums
from harness.kafka.segments.group_records import GroupRecord, group_record_of, text_at

Deleted = tuple[int, str, str, int]
"""Offset in the log, group, topic, partition."""

_TRANSACTIONAL, _CONTROL, _COMPRESSED = 0x10, 0x20, 0x07
_ENDS: dict[int, Literal["commit", "abort"]] = {0: "abort", 1: "commit"}
"""Outcomes by the types of the control records that end transactions (KIP-98)."""
_KEY_VERSIONS = range(2)
_VALUE_VERSIONS = range(5)
"""Known versions; in all of them the offset comes first."""
_SHORT, _PLACE, _VALUE = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">hq")
_MARKER = struct.Struct(">hh")
"""Version and type of a control record."""


class CommitBatch(NamedTuple):
    """A valid batch of a log.

    Attributes:
        first: offset of its first record.
        end: the offset after its last record.
        leader_epoch: leader epoch in which it was appended.
        whole: whether it has a record for each of its offsets, so compaction removed none.
        rows: commits; None if it is compressed, or if a record can't be read.
        deleted: offset in the log, group, topic and partition of each deletion of an offset.
        producer: id of the producer whose transaction it belongs to or ends; None outside transactions.
        ends: for a marker that ends a transaction, whether it is a commit or an abort; else None.
        groups: offset in the log and content of each record about a group.
    """

    first: int
    end: int
    leader_epoch: int
    whole: bool
    rows: list[CommitWritten] | None
    deleted: list[Deleted]
    producer: int | None = None
    ends: Literal["commit", "abort"] | None = None
    groups: Sequence[tuple[int, GroupRecord]] = ()


class CommittedOffset(NamedTuple):
    """What a record commits for a group; the offset is None if it is deleted."""

    group: str
    topic: str
    partition: int
    offset: int | None


class FileChunk(NamedTuple):
    """Content of a part of a file.

    Attributes:
        batches: batches in order, up to the first incomplete or damaged one.
        last: position of the last batch within the part.
        size: number of bytes of all batches.
    """

    batches: list[CommitBatch]
    last: int
    size: int


def read_commits(data: bytes) -> FileChunk:
    """Read the batches of a part that begins with a batch; never fails, whatever the bytes are."""
    view = np.frombuffer(data, dtype=np.uint8)
    positions, ended, _ = batch_positions(view)
    headers = [np.frombuffer(data, HEADER, 1, position)[0] for position in positions.tolist()]
    ends = np.append(positions[1:], ended)[: len(positions)]
    crcs = np.array([header["crc"] for header in headers], dtype=np.uint32)
    wrong = np.flatnonzero(checksums(view, positions, ends) != crcs)
    sound = int(wrong[0]) if len(wrong) else len(positions)
    batches = [
        _batch(data[start:end], header)
        for start, end, header in zip(positions[:sound].tolist(), ends.tolist(), headers, strict=False)
    ]
    if not sound:
        return FileChunk([], 0, 0)
    return FileChunk(batches, int(positions[sound - 1]), int(ends[sound - 1]))


def _batch(data: bytes, header: np.void) -> CommitBatch:
    base, count = int(header["base_offset"]), int(header["count"])
    end = base + int(header["last_offset_delta"]) + 1
    attributes = int(header["attributes"])
    batch = CommitBatch(base, end, int(header["leader_epoch"]), count == end - base, [], [])
    if attributes & _TRANSACTIONAL:
        batch = batch._replace(producer=int(header["producer_id"]))
    if attributes & _CONTROL:
        ends = _ends(data)
        return batch._replace(ends=ends, rows=None if ends is None and attributes & _TRANSACTIONAL else [])
    content = None if attributes & _COMPRESSED else _rows(data, range(base, end), count)
    if content is None:
        return batch._replace(rows=None)
    return batch._replace(rows=content.rows, deleted=content.deleted, groups=content.groups)


def _ends(data: bytes) -> Literal["commit", "abort"] | None:
    """How a batch ends a transaction; None if its record has another type."""
    record = _record(data, HEADER_BYTES)
    key = b"" if record is None or record.key is None else record.key
    return _ENDS.get(_MARKER.unpack(key)[1]) if len(key) == _MARKER.size else None


class _Record(NamedTuple):
    """A record: its offset delta, key and value, and the position of the next one."""

    delta: int
    key: bytes | None
    value: bytes | None
    end: int


class _Content(NamedTuple):
    """The records of a batch; the fields are those of `CommitBatch`."""

    rows: list[CommitWritten]
    deleted: list[Deleted]
    groups: list[tuple[int, GroupRecord]]


def _rows(data: bytes, offsets: range, count: int) -> _Content | None:
    found = _Content([], [], [])
    at = HEADER_BYTES
    for _ in range(count):
        record = _record(data, at)
        if record is None or offsets.start + record.delta not in offsets:
            return None
        try:
            row = commit_of(record.key, record.value)
        except ValueError:
            return None
        offset = offsets.start + record.delta
        if row is not None and row.offset is not None:
            found.rows.append((offset, *row[:3], row.offset))
        elif row is not None:
            found.deleted.append((offset, *row[:3]))
        about = group_record_of(record.key, record.value)
        found.groups.extend([] if about is None else [(offset, about)])
        at = record.end
    return found


def _record(data: bytes, position: int) -> _Record | None:
    """The record that begins here (KIP-98); None if there is none."""
    size, start = varint(data, position)
    _, at = varint(data, start + 1) if start is not None else (0, None)
    delta, at = varint(data, at) if at is not None else (0, None)
    key, at = _field(data, at)
    value, at = _field(data, at)
    if start is None or at is None or start + size < at:
        return None
    return _Record(delta, key, value, start + size)


def _field(data: bytes, position: int | None) -> tuple[bytes | None, int | None]:
    """A field after its length, which is -1 for null, and the position after it; None without one."""
    size, at = varint(data, position) if position is not None else (0, None)
    if at is None or size > len(data) - at:
        return None, None
    return (data[at : at + size], at + size) if size >= 0 else (None, at)


def commit_of(key: bytes | None, value: bytes | None) -> CommittedOffset | None:
    """The offset that a record commits or deletes.

    Returns:
        None if the record has another type.

    Raises:
        ValueError: it is a commit, or a deletion, that can't be read.
    """
    try:
        if key is None or _SHORT.unpack_from(key)[0] not in _KEY_VERSIONS:
            return None
        group, at = text_at(key, _SHORT.size)
        topic, at = text_at(key, at)
        (partition,) = _PLACE.unpack_from(key, at)
        version, offset = (0, None) if value is None else _VALUE.unpack_from(value)
    except struct.error as error:
        raise ValueError(f"a commit that is cut short: {error}") from None
    if version not in _VALUE_VERSIONS or min(partition, offset or 0) < 0:
        raise ValueError(f"a commit of version {version}, of offset {offset} in partition {partition}")
    return CommittedOffset(group, topic, partition, offset)
