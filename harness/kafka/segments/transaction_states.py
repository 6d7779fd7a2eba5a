"""Decodes records of ``__transaction_state`` (TransactionLogKey and TransactionLogValue).

A key consists of its version (0; other records have others) and the transactional id.  A value of version 0
has the producer's id and epoch, the timeout, the status, the partitions, and the times of the last update and
of the start.  Version 1 (KIP-890, from 3.8 on) is flexible: lengths are varints, stored plus one, and fields
follow that are tagged: previous producer id (tag 0), next producer id (1), version of the client's
transactions (2), and the next producer epoch (3, from 4.3 on).  Tags that are not known are skipped, as Kafka
skips them.  A record without a value deletes the id.
"""

import struct
from typing import NamedTuple

from checkers.history.transaction_states import Status
from harness.kafka.segments.group_records import text_at
from harness.kafka.segments.varints import unsigned

_KEY_VERSION, _FLEXIBLE_VERSION = 0, 1
_SHORT, _NUMBER, _LONG = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_HEAD, _TIMES = struct.Struct(">qhib"), struct.Struct(">qq")
"""Producer id, producer epoch, timeout and status; times of the last update and of the start."""
_TAGS = (_LONG, _LONG, _SHORT, _SHORT)
"""The types of the tagged fields, in the order of their tags."""
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
