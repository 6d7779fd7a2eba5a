"""The columns of a replica's batches, unpacked, changed and packed again, as docs/histories.md gives them."""

import base64
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.history.packing import pack, unpack
from checkers.history.replicas import COLUMN_TYPES, thinned

Columns = dict[str, NDArray[Any]]

_TYPES = {
    "base_offset": "<i8",
    "last_offset": "<i8",
    "leader_epoch": "<i4",
    "producer_id": "<i8",
    "producer_epoch": "<i2",
    "base_sequence": "<i4",
    "count": "<i4",
    "crc": "<u4",
    "attributes": "<u2",
    "control": "<i2",
    "coordinator_epoch": "<i4",
}


def unpacked(value: dict[str, Any]) -> Columns:
    """All columns of a replica's value; they may be written to."""
    return {
        name: np.frombuffer(zlib.decompress(base64.b64decode(value["batches"][name])), kind).copy()
        for name, kind in _TYPES.items()
    }


def packed(columns: Columns) -> dict[str, str]:
    """Columns as a history has them."""
    return {
        name: base64.b64encode(zlib.compress(columns[name].astype(kind).tobytes())).decode()
        for name, kind in _TYPES.items()
    }


def kept(columns: Columns, rows: Any) -> Columns:
    """The columns with some rows only: a mask, or indices in the order wanted."""
    return {name: column[rows] for name, column in columns.items()}


def rewritten(
    change: Callable[[Columns], Columns | None], lost: int | None = None
) -> Callable[[dict[str, Any]], None]:
    """A change of a replica's value by a change of its columns; ``count``, ``end`` and ``left`` follow.

    ``end`` follows only where the last batch is another one: it may lie behind a batch that compaction took.

    Args:
        change: changes the columns, in place or by what it returns.
        lost: offset of a record that its batch loses by it; the last ones where none is given.
    """

    def changed(value: dict[str, Any]) -> None:
        columns = unpacked(value)
        left = _left(value, columns)
        last = int(columns["last_offset"][-1]) if len(columns["last_offset"]) else None
        again = change(columns)
        columns = columns if again is None else again
        value["batches"], value["count"] = packed(columns), len(columns["count"])
        if left is not None:
            value["left"] = pack(_left_now(left, columns, lost), "base_offset", COLUMN_TYPES)
        now = int(columns["last_offset"][-1]) if len(columns["last_offset"]) else None
        if now != last:
            value["end"] = value["log_start"] if now is None else now + 1

    return changed


def _left(value: dict[str, Any], columns: Columns) -> dict[int, list[int]] | None:
    """Offsets of the records that batches which lost some have left, by their first offsets."""
    if value.get("left") is None:
        return None
    rows = thinned(columns)
    counts = columns["count"][rows]
    offsets = unpack(value["left"], "base_offset", int(counts.sum()), COLUMN_TYPES)
    parts = np.split(offsets, np.cumsum(counts)[:-1]) if len(rows) else []
    return {
        base: part.tolist() for base, part in zip(columns["base_offset"][rows].tolist(), parts, strict=True)
    }


def _left_now(left: dict[int, list[int]], columns: Columns, lost: int | None) -> NDArray[Any]:
    found: list[int] = []
    for row in thinned(columns).tolist():
        base, last = int(columns["base_offset"][row]), int(columns["last_offset"][row])
        before = left.get(base, [*range(base, last + 1)])
        found += [offset for offset in before if offset != lost][: columns["count"][row]]
    return np.array(found, dtype=np.int64)


def columns_kept_but(columns: Columns, row: int) -> Columns:
    """The columns without one row."""
    return {name: np.delete(column, row) for name, column in columns.items()}
