"""The types of the records of ``__share_group_state``, as they are read from brokers' disks at the end.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  Records and the batches in them
are columns, packed as those of replicas (`checkers.history.replicas`).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.fields import Offset, Partition
from checkers.history.replicas import BATCHES_FREE, Natural, pack, unpack

SHARE_STATES = "share-states"
"""Key of these observations."""
EVIDENCE_SHARES = "share-states"
"""Their name in ``setup.evidence``."""

Types = Mapping[str, np.dtype[Any]]
Arrays = dict[str, NDArray[Any]]
SHARE_STATE_TYPES: Types = {
    "offset": np.dtype("<i8"),
    "leader_epoch": np.dtype("<i4"),
    "place": np.dtype("<i4"),
    "kind": np.dtype("<i1"),
    "snapshot_epoch": np.dtype("<i4"),
    "state_epoch": np.dtype("<i4"),
    "share_epoch": np.dtype("<i4"),
    "start": np.dtype("<i8"),
    "batches": np.dtype("<i4"),
}
"""Every column of the records, and the type of its numbers."""
SHARE_BATCH_TYPES: Types = {
    "first": np.dtype("<i8"),
    "last": np.dtype("<i8"),
    "state": np.dtype("<i1"),
    "count": np.dtype("<i2"),
}
"""Every column of the batches of all records, in the order of the records, and the type of its numbers."""


class Kind(IntEnum):
    """Kinds of records."""

    REMOVED = -1
    """A record without a value: the state is deleted."""
    SNAPSHOT = 0
    UPDATE = 1


class Delivery(IntEnum):
    """Delivery states that are stored, by Kafka's numbers."""

    AVAILABLE = 0
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class ShareStatesSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The records in one replica's log of a partition of ``__share_group_state``.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        partition: number of the partition.
        end: the offset after the last whole batch.
        places: share partitions, as group, topic id and partition; the column ``place`` refers to them.
        unread: first offsets of the batches with a record that could not be decoded.
        count: number of records.
        columns: packed columns of the records by name; none if the log could not be read.
        batch_count: number of batches.
        batches: packed columns of the batches by name; each record has as many as its column says.
        error: why the log could not be read.
    """

    began_ns: Natural
    partition: Partition
    end: Offset = 0
    places: list[tuple[str, str, Partition]] = []
    unread: list[Offset] = []
    count: Natural = 0
    columns: dict[str, str] = {}
    batch_count: Natural = 0
    batches: dict[str, str] = {}
    error: str | None = None


def packed_rows(rows: Iterable[Sequence[int]], types: Types) -> dict[str, str]:
    """Pack rows; each has one number for each column, in the order of `types`."""
    table = np.array([*rows], np.int64).reshape(-1, len(types))
    return {name: pack(table[:, place], name, types) for place, name in enumerate(types)}


def share_state_columns(seen: ShareStatesSeen) -> tuple[Arrays, Arrays]:
    """The columns of the records and of the batches, each in its own integer type; empty with an error.

    Raises:
        ValueError: a column is missing, has another length, or does not fit the others.
    """
    if seen.error is not None and not seen.columns:
        return _empty(SHARE_STATE_TYPES), _empty(SHARE_BATCH_TYPES)
    records = _unpacked(seen.columns, seen.count, SHARE_STATE_TYPES)
    batches = _unpacked(seen.batches, seen.batch_count, SHARE_BATCH_TYPES)
    if seen.count and not 0 <= records["place"].min() <= records["place"].max() < len(seen.places):
        raise ValueError(f"Expected numbers from 0 to {len(seen.places) - 1} in column place")
    if (records["batches"] < 0).any() or records["batches"].sum() != seen.batch_count:
        raise ValueError(f"Expected {seen.batch_count} batches in column batches")
    if (batches["first"] > batches["last"]).any():
        raise ValueError("Expected no number in column first above that in column last")
    return records, batches


def share_states_problem(seen: ShareStatesSeen) -> str | None:
    """The problem with the columns of an observation, or None."""
    try:
        share_state_columns(seen)
    except ValueError as error:
        return str(error)
    return None


def _empty(types: Types) -> Arrays:
    return {name: np.empty(0, dtype) for name, dtype in types.items()}


def _unpacked(packed: Mapping[str, str], count: int, types: Types) -> Arrays:
    missing = sorted(types.keys() - packed.keys())
    if missing:
        raise ValueError(f"Expected a column {missing[0]}")
    characters = sum(map(len, packed.values()))
    if count > max(BATCHES_FREE, characters):
        raise ValueError(f"Expected at most {characters:,} rows in so many characters, got {count:,}")
    return {name: unpack(packed[name], name, count, types) for name in types}
