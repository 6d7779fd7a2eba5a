"""Decodes records of ``__transaction_state`` (TransactionLogKey and TransactionLogValue).

A key consists of its version (0; other records have others) and the transactional id.  A value of version 0
has the producer's id and epoch, the timeout, the status, the partitions, and the times of the last update and
of the start.  Version 1 (KIP-890, from 3.8 on) is flexible: lengths are varints, stored plus one, and fields
follow that are tagged: previous producer id (tag 0), next producer id (1), version of the client's
transactions (2), and the next producer epoch (3, from 4.3 on).  Tags that are not known are skipped, as Kafka
skips them.  A record without a value deletes the id.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from checkers.history.transaction_states import Status
from harness.kafka.segments.batches import HEADER
from harness.kafka.segments.compiled import SearchEnd, batch_positions, checksums
from harness.kafka.segments.group_records import text_at
from harness.kafka.segments.records import records_of
from harness.kafka.segments.varints import unsigned

_KEY_VERSION, _FLEXIBLE_VERSION = 0, 1
_SHORT, _NUMBER, _LONG = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_HEAD, _TIMES = struct.Struct(">qhib"), struct.Struct(">qq")
"""Producer id, producer epoch, timeout and status; times of the last update and of the start."""
_TAGS = (_LONG, _LONG, _SHORT, _SHORT)
"""The types of the tagged fields, in the order of their tags."""
_COMPRESSED = 0x07
Partitions = tuple[tuple[str, tuple[int, ...]], ...]
"""Topics with their partitions, in order."""


class StateRecord(NamedTuple):
    """Content of a record; `status` is `Status.REMOVED` for a deletion, and the rest is empty then."""

    transactional_id: str
    status: int = Status.REMOVED
    producer_id: int = -1
    producer_epoch: int = -1
    previous_producer_id: int = -1
    next_producer_id: int = -1
    next_producer_epoch: int = -1
    version: int = 0
    timeout_ms: int = 0
    partitions: Partitions | None = None
    updated_ms: int = -1
    started_ms: int = -1


class PlacedState(NamedTuple):
    """A record, its offset, and the leader epoch in which it was appended."""

    offset: int
    leader_epoch: int
    record: StateRecord


class SegmentStates(NamedTuple):
    """Content of a segment.

    Attributes:
        records: records in the order of the file.
        unread: first offsets of batches that are compressed, or have a record that can't be decoded.
        end: offset after the last whole batch; None if there is none.
        leader_epoch: leader epoch of this batch; -1 if there is none.
        damaged: whether a batch has a wrong checksum, or no batch begins where one should.
        unfinished: whether an incomplete batch, or zeros, follow the last whole batch.
    """

    records: Sequence[PlacedState]
    unread: Sequence[int]
    end: int | None
    leader_epoch: int
    damaged: bool
    unfinished: bool


def state_of(key: bytes | None, value: bytes | None) -> StateRecord | None:
    """Decode a record; None if it has a key of another version, which Kafka skips.

    Raises:
        ValueError: its bytes are not as expected.
    """
    try:
        if key is None:
            raise ValueError("a record without a key")
        if _SHORT.unpack_from(key)[0] != _KEY_VERSION:
            return None
        name, _ = text_at(key, _SHORT.size)
        return StateRecord(name) if value is None else _decoded(name, value)
    except (IndexError, struct.error) as error:
        raise ValueError(f"a state that is cut short: {error}") from None


def read_states(data: bytes, *, decode: bool = True) -> SegmentStates:
    """Read the batches of a segment up to the first damaged one; never fails, whatever the bytes are.

    Args:
        data: the segment's bytes.
        decode: whether to decode records too, which takes most of the time.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    positions, ended, stop = batch_positions(view)
    headers = [np.frombuffer(data, HEADER, 1, position)[0] for position in positions.tolist()]
    ends = np.append(positions[1:], ended)[: len(positions)]
    told = np.array([header["crc"] for header in headers], dtype=np.uint32)
    wrong = np.flatnonzero(checksums(view, positions, ends) != told)
    sound = int(wrong[0]) if len(wrong) else len(positions)
    records: list[PlacedState] = []
    unread: list[int] = []
    decoded = positions[:sound].tolist() if decode else ()
    for start, end, header in zip(decoded, ends.tolist(), headers, strict=False):
        found = _batch(data[start:end], header)
        records += found or ()
        if found is None:
            unread.append(int(header["base_offset"]))
    torn = stop is SearchEnd.CUT or not view[ended:].any()
    damaged, unfinished = sound < len(positions) or not torn, stop is not SearchEnd.END
    if not sound:
        return SegmentStates(records, unread, None, -1, damaged, unfinished)
    last = headers[sound - 1]
    end = int(last["base_offset"]) + int(last["last_offset_delta"]) + 1
    return SegmentStates(records, unread, end, int(last["leader_epoch"]), damaged, unfinished)


def _batch(data: bytes, header: np.void) -> list[PlacedState] | None:
    """The records of a batch; None if it is compressed, or if one of them can't be decoded."""
    if int(header["attributes"]) & _COMPRESSED:
        return None
    base, epoch = int(header["base_offset"]), int(header["leader_epoch"])
    found: list[PlacedState] = []
    try:
        for record in records_of(data, int(header["count"])):
            state = state_of(record.key, record.value)
            if state is not None:
                found.append(PlacedState(base + record.offset_delta, epoch, state))
    except ValueError:
        return None
    return found


def _decoded(name: str, value: bytes) -> StateRecord:
    (version,) = _SHORT.unpack_from(value)
    if not _KEY_VERSION <= version <= _FLEXIBLE_VERSION:
        raise ValueError(f"a state of version {version}")
    flexible = version == _FLEXIBLE_VERSION
    producer, epoch, timeout_ms, status = _HEAD.unpack_from(value, _SHORT.size)
    if status not in _STATUSES:
        raise ValueError(f"status {status}")
    partitions, at = _partitions(value, _SHORT.size + _HEAD.size, flexible=flexible)
    updated_ms, started_ms = _TIMES.unpack_from(value, at)
    at += _TIMES.size
    tagged, at = _tagged(value, at) if flexible else ({}, at)
    if at != len(value):
        raise ValueError(f"{len(value) - at} bytes after a state")
    return StateRecord(
        name,
        status,
        producer,
        epoch,
        previous_producer_id=tagged.get(0, -1),
        next_producer_id=tagged.get(1, -1),
        next_producer_epoch=tagged.get(3, -1),
        version=tagged.get(2, 0),
        timeout_ms=timeout_ms,
        partitions=partitions,
        updated_ms=updated_ms,
        started_ms=started_ms,
    )


_STATUSES = frozenset(status.value for status in Status) - {Status.REMOVED}


def _partitions(data: bytes, at: int, *, flexible: bool) -> tuple[Partitions | None, int]:
    count, at = _length(data, at, flexible=flexible)
    if count < 0:
        return None, at
    found: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(count):
        topic, at = _text(data, at) if flexible else text_at(data, at)
        number, at = _length(data, at, flexible=flexible)
        if not 0 <= number <= (len(data) - at) // _NUMBER.size:
            raise ValueError(f"{number} partitions in {len(data) - at} bytes")
        found.append((topic, struct.unpack_from(f">{number}i", data, at)))
        at += number * _NUMBER.size
        if flexible:
            _, at = _tagged(data, at)
    return tuple(found), at


def _length(data: bytes, at: int, *, flexible: bool) -> tuple[int, int]:
    """The length of an array, -1 for null, and the position after it."""
    if flexible:
        size, at = unsigned(data, at)
        return size - 1, at
    return _NUMBER.unpack_from(data, at)[0], at + _NUMBER.size


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = unsigned(data, at)
    end = at + size - 1
    if not at <= end <= len(data):
        raise ValueError("a text that is longer than its record")
    return data[at:end].decode(), end


def _tagged(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """The tagged fields with known tags, and the position after all of them."""
    found: dict[int, int] = {}
    count, at = unsigned(data, at)
    for _ in range(count):
        tag, at = unsigned(data, at)
        size, at = unsigned(data, at)
        if size > len(data) - at:
            raise ValueError("a field that is longer than its record")
        if tag < len(_TAGS):
            (found[tag],) = _TAGS[tag].unpack(data[at : at + size])
        at += size
    return found, at
