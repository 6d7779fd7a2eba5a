"""Record batches of one segment: headers as columns, checksums verified, control records read."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.evidence.replicas import CONTROL
from checkers.history.replicas import COLUMN_TYPES
from harness.kafka.segments.compiled import (
    HEADER_BYTES,
    Bytes,
    Positions,
    SearchEnd,
    batch_positions,
    checksums,
)

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">u2"),
        ("last_offset_delta", ">i4"),
        ("first_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
"""A batch's header on disk (KIP-98, format version 2)."""

ABORT, COMMIT = 0, 1
_KEY_BYTES = 4
_MARKER_BYTES = 6
_LENGTH_COUNTS_FROM = 12
_VARINT_BYTES_MAX = 5
_COMPRESSION = 0b111
"""Bits of a batch's attributes that state its compression."""

REASONS = {
    SearchEnd.CUT: "the batch is longer than what is left of the file",
    SearchEnd.LENGTH: "the length is that of no batch",
    SearchEnd.MAGIC: "the format version is not 2",
}
BAD_CHECKSUM = "the CRC-32C is not that of the content"
BAD_CONTROL = "the control record can't be read"


class Damage(NamedTuple):
    """A place in a segment without a valid batch; `offset` is the batch's first, if it is known."""

    position: int
    offset: int | None
    reason: str


class Tail(NamedTuple):
    """The bytes after the last complete batch: position, number, and ``cut`` or ``zeros``."""

    position: int
    size: int
    kind: Literal["cut", "zeros"]


class Segment(NamedTuple):
    """The content of one segment file.

    Attributes:
        size: size of the file, bytes.
        columns: arrays by the names of `COLUMN_TYPES`, shape (batches,).
        damage: places without a valid batch; reading stops at one where no batch begins.
        tail: bytes at the end that may begin a batch or are zeros; None if the file ends with a batch.
        left: ascending offsets of the records in batches that have fewer records than offsets, but not none;
            None if such a batch is compressed, or its records can't be read.
    """

    size: int
    columns: dict[str, NDArray[np.integer]]
    damage: tuple[Damage, ...]
    tail: Tail | None
    left: NDArray[np.integer] | None


def read_segment(data: bytes) -> Segment:
    """Read the batches of a segment; never fails, whatever the bytes are."""
    view = np.frombuffer(data, dtype=np.uint8)
    positions, ended, stop = batch_positions(view)
    headers = _headers(view, positions)
    columns = _columns(headers)
    damage = _bad_checksums(view, positions, headers)
    damage += _read_control(data, positions, columns)
    tail = _tail(view, ended, stop)
    if tail is None and stop is not SearchEnd.END:
        damage.append(Damage(ended, None, REASONS[stop]))
    return Segment(len(data), columns, tuple(sorted(damage)), tail, _left(data, positions, columns))


def _headers(view: Bytes, positions: Positions) -> NDArray[np.void]:
    """Headers at these positions as an array, one element each."""
    if not len(positions):
        return np.empty(0, dtype=HEADER)
    windows = np.lib.stride_tricks.sliding_window_view(view, HEADER_BYTES)
    return windows[positions].reshape(-1).view(HEADER)


def _columns(headers: NDArray[np.void]) -> dict[str, NDArray[np.integer]]:
    columns = {name: headers[name] for name in COLUMN_TYPES if name in HEADER.names}  # type: ignore[operator]  # a dtype with fields has names
    columns["last_offset"] = headers["base_offset"] + headers["last_offset_delta"]
    for name in ("control", "coordinator_epoch"):
        columns[name] = np.full(len(headers), -1)
    return {name: columns[name].astype(dtype) for name, dtype in COLUMN_TYPES.items()}


def _bad_checksums(view: Bytes, positions: Positions, headers: NDArray[np.void]) -> list[Damage]:
    ends = positions + _LENGTH_COUNTS_FROM + headers["length"]
    wrong = np.flatnonzero(checksums(view, positions, ends) != headers["crc"])
    return [
        Damage(int(positions[row]), int(headers["base_offset"][row]), BAD_CHECKSUM) for row in wrong.tolist()
    ]


def _tail(view: Bytes, position: int, stop: SearchEnd) -> Tail | None:
    """The bytes where the search ended, if an unfinished write or a power loss can explain them."""
    rest = view[position:]
    if stop is SearchEnd.END:
        return None
    if not rest.any():
        return Tail(position, len(rest), "zeros")
    return Tail(position, len(rest), "cut") if stop is SearchEnd.CUT else None


def _read_control(data: bytes, positions: Positions, columns: dict[str, NDArray[np.integer]]) -> list[Damage]:
    """Fill in the content of control batches; returns those that can't be read."""
    damage = []
    for row in np.flatnonzero(columns["attributes"] & CONTROL).tolist():
        position = int(positions[row])
        content = control_record(data, position + HEADER_BYTES)
        if content is None:
            damage.append(Damage(position, int(columns["base_offset"][row]), BAD_CONTROL))
        else:
            columns["control"][row], columns["coordinator_epoch"][row] = content
    return damage


def control_record(data: bytes, position: int) -> tuple[int, int] | None:
    """Type of the control record that begins here, and its coordinator's epoch, -1 if it is no marker.

    None if it is no control record.  A record consists of length, attributes (one byte), deltas of timestamp
    and offset, key and value, each after its length.  A marker's key is version and type.  Its value is
    version and coordinator epoch (KIP-98, Control Messages).
    """
    fields = _record_fields(data, position)
    if fields is None:
        return None
    key, value = fields
    if len(key) < _KEY_BYTES:
        return None
    kind = int.from_bytes(key[2:4], "big", signed=True)
    if kind not in (ABORT, COMMIT):
        return kind, -1
    return (kind, int.from_bytes(value[2:6], "big", signed=True)) if len(value) >= _MARKER_BYTES else None


def _record_fields(data: bytes, position: int) -> tuple[bytes, bytes] | None:
    """Key and value of the record that begins here; None if there is none."""
    numbers = []
    at: int | None = position
    for skipped in (0, 1, 0, 0):  # length; then, after the attributes, timestamp, offset, key length
        number, at = varint(data, at + skipped) if at is not None else (0, None)
        numbers.append(number)
    if at is None or not 0 <= numbers[3] <= len(data) - at:
        return None
    key, at = data[at : at + numbers[3]], at + numbers[3]
    size, at = varint(data, at)
    return (key, data[at : at + size]) if at is not None and size >= 0 else None


def _left(
    data: bytes, positions: Positions, columns: dict[str, NDArray[np.integer]]
) -> NDArray[np.integer] | None:
    """Offsets of the remaining records in batches that lost some, for example by compaction."""
    span = columns["last_offset"] - columns["base_offset"] + 1
    rows = np.flatnonzero((columns["count"] > 0) & (columns["count"] < span))
    if bool((columns["attributes"][rows] & _COMPRESSION).any()):
        return None
    found: list[int] = []
    for row in rows.tolist():
        base, last = int(columns["base_offset"][row]), int(columns["last_offset"][row])
        at = int(positions[row]) + HEADER_BYTES
        for _ in range(columns["count"][row]):
            decoded = _offset_delta(data, at)
            if decoded is None or not base <= base + decoded[0] <= last:
                return None
            found.append(base + decoded[0])
            at = decoded[1]
    return np.array(found, dtype=np.int64)


def _offset_delta(data: bytes, position: int) -> tuple[int, int] | None:
    """A record's offset delta, and the position of the next record; None if there is no record."""
    size, start = varint(data, position)
    _, at = varint(data, start + 1) if start is not None else (0, None)
    delta, at = varint(data, at) if at is not None else (0, None)
    return None if start is None or at is None or start + size < at else (delta, start + size)


def varint(data: bytes, position: int) -> tuple[int, int | None]:
    """A zigzag number of variable length and the position after it; None if it does not end."""
    value = 0
    for index, byte in enumerate(data[position : position + 2 * _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:  # noqa: PLR2004 - the bit that marks a continued number
            return (value >> 1) ^ -(value & 1), position + index + 1
    return 0, None
