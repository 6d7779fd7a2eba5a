"""The types of the records of ``__share_group_state``, as they are read from brokers' disks at the end.

Records and the batches in them are columns (`checkers.history.coordinator_logs`).
"""

from enum import IntEnum

import msgspec
import numpy as np

from checkers.history.coordinator_logs import CoordinatorLogSeen
from checkers.history.fields import Partition
from checkers.history.packing import Arrays, Types, no_rows, problem_with, require_places, unpacked_rows
from checkers.history.replicas import Natural

SHARE_STATES = "share-states"
"""Key of these observations."""
EVIDENCE_SHARES = "share-states"
"""Their name in ``setup.evidence``."""

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
    """Kinds of records in ``__share_group_state``."""

    REMOVED = -1
    """A record without a value: the state is deleted."""
    SNAPSHOT = 0
    UPDATE = 1


class Delivery(IntEnum):
    """Delivery states that are stored, by Kafka's numbers; groups with dead-letter queues have Archiving."""

    AVAILABLE = 0
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


class ShareStatesSeen(CoordinatorLogSeen, frozen=True, kw_only=True):
    """The records in one replica's log of a partition of ``__share_group_state``.

    Attributes:
        places: share partitions, as group, topic id and partition; the column ``place`` refers to them.
        batch_count: number of batches.
        batches: packed columns of the batches by name; each record has as many as its column says.
    """

    places: list[tuple[str, str, Partition]] = msgspec.field(default_factory=list)
    batch_count: Natural = 0
    batches: dict[str, str] = msgspec.field(default_factory=dict)


def share_state_columns(seen: ShareStatesSeen) -> tuple[Arrays, Arrays]:
    """The columns of the records and of the batches, each in its own integer type; empty with an error.

    Raises:
        ValueError: a column is missing, has another length, or does not fit the others.
    """
    if seen.is_unread:
        return no_rows(SHARE_STATE_TYPES), no_rows(SHARE_BATCH_TYPES)
    records = unpacked_rows(seen.columns, seen.count, SHARE_STATE_TYPES, "records")
    batches = unpacked_rows(seen.batches, seen.batch_count, SHARE_BATCH_TYPES, "batches")
    require_places(records, "place", seen.places)
    if (records["batches"] < 0).any() or records["batches"].sum() != seen.batch_count:
        raise ValueError(f"Expected {seen.batch_count} batches in column batches")
    if (batches["first"] > batches["last"]).any():
        raise ValueError("Expected no number in column first above that in column last")
    return records, batches


def share_states_problem(seen: ShareStatesSeen) -> str | None:
    """The problem with the columns of an observation, or None."""
    return problem_with(share_state_columns, seen)
