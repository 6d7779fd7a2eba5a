"""The columns of a replica's batches, unpacked, changed and packed again, as docs/histories.md gives them."""

import base64
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def rewritten(change: Callable[[Columns], Columns | None]) -> Callable[[dict[str, Any]], None]:
    """A change of a replica's value by a change of its columns; ``count`` and ``end`` follow.

    ``end`` follows only where the last batch is another one: it may lie behind a batch that compaction took.
    """

    def changed(value: dict[str, Any]) -> None:
        columns = unpacked(value)
        last = int(columns["last_offset"][-1]) if len(columns["last_offset"]) else None
        again = change(columns)
        columns = columns if again is None else again
        value["batches"], value["count"] = packed(columns), len(columns["count"])
        now = int(columns["last_offset"][-1]) if len(columns["last_offset"]) else None
        if now != last:
            value["end"] = value["log_start"] if now is None else now + 1

    return changed


def columns_kept_but(columns: Columns, row: int) -> Columns:
    """The columns without one row."""
    return {name: np.delete(column, row) for name, column in columns.items()}
