"""The types of the records of ``__transaction_state``, as they are read from brokers' disks at the end.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  A log has tens of thousands of
records, so they are columns, packed as those of replicas (`checkers.history.replicas`).
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.fields import Offset, Partition
from checkers.history.replicas import BATCHES_FREE, Natural, pack, unpack

TRANSACTION_STATES = "transaction-states"
"""Key of these observations."""
EVIDENCE_STATES = "transaction-states"
"""Their name in ``setup.evidence``."""

STATE_TYPES: Mapping[str, np.dtype[Any]] = {
    "offset": np.dtype("<i8"),
    "leader_epoch": np.dtype("<i4"),
    "id": np.dtype("<i4"),
    "status": np.dtype("<i1"),
    "producer_id": np.dtype("<i8"),
    "producer_epoch": np.dtype("<i2"),
    "previous_producer_id": np.dtype("<i8"),
    "next_producer_id": np.dtype("<i8"),
    "next_producer_epoch": np.dtype("<i2"),
    "version": np.dtype("<i2"),
    "timeout_ms": np.dtype("<i4"),
    "partitions": np.dtype("<i4"),
    "updated_ms": np.dtype("<i8"),
    "started_ms": np.dtype("<i8"),
}
"""Every column of the records, and the type of its numbers."""


class Status(IntEnum):
    """States of a transaction by their numbers in the log (Kafka's ``TransactionState``)."""

    REMOVED = -1
    """A record without a value: the transactional id has expired."""
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


class StatesSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The records in one replica's log of a partition of ``__transaction_state``.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        partition: number of the partition.
        end: the offset after the last whole batch.
        settled: the end of the same log before the replicas of the run's topics were read; None if unknown.
        ids: the transactional ids; the column ``id`` has their places in this list.
        sets: sets of partitions, each by topic; the column ``partitions`` has their places, -1 for none.
        unread: first offsets of the batches with a record that could not be decoded.
        count: number of records.
        columns: packed columns by name; none if the log could not be read.
        error: why the log could not be read.
    """

    began_ns: Natural
    partition: Partition
    end: Offset = 0
    settled: Offset | None = None
    ids: list[str] = []
    sets: list[dict[str, list[Partition]]] = []
    unread: list[Offset] = []
    count: Natural = 0
    columns: dict[str, str] = {}
    error: str | None = None


def packed_states(rows: Sequence[Sequence[int]]) -> dict[str, str]:
    """Pack records; each row has one number for each column, in the order of `STATE_TYPES`."""
    table = zip(*rows, strict=True) if rows else [()] * len(STATE_TYPES)
    return {
        name: pack(np.array(column, dtype=STATE_TYPES[name]), name, STATE_TYPES)
        for name, column in zip(STATE_TYPES, table, strict=True)
    }


def state_columns(seen: StatesSeen) -> dict[str, NDArray[Any]]:
    """The columns of an observation, shape (count,), each in its own integer type; empty with an error.

    Raises:
        ValueError: a column is missing, has another length, or refers to an id or a set that is not listed.
    """
    if seen.error is not None and not seen.columns:
        return {name: np.empty(0, dtype) for name, dtype in STATE_TYPES.items()}
    missing = sorted(STATE_TYPES.keys() - seen.columns.keys())
    if missing:
        raise ValueError(f"Expected a column {missing[0]}")
    characters = sum(map(len, seen.columns.values()))
    if seen.count > max(BATCHES_FREE, characters):
        raise ValueError(f"Expected at most {characters:,} records in so many characters, got {seen.count:,}")
    found = {name: unpack(seen.columns[name], name, seen.count, STATE_TYPES) for name in STATE_TYPES}
    for name, least, listed in (("id", 0, seen.ids), ("partitions", -1, seen.sets)):
        if seen.count and not least <= found[name].min() <= found[name].max() < len(listed):
            raise ValueError(f"Expected numbers from {least} to {len(listed) - 1} in column {name}")
    return found


def states_problem(seen: StatesSeen) -> str | None:
    """The problem with the columns of an observation, or None."""
    try:
        state_columns(seen)
    except ValueError as error:
        return str(error)
    return None
