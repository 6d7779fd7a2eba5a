"""The types of the records of ``__transaction_state``, as they are read from brokers' disks at the end.

Records are columns (`checkers.history.coordinator_logs`).
"""

from enum import IntEnum

import msgspec
import numpy as np

from checkers.history.coordinator_logs import CoordinatorLogSeen
from checkers.history.fields import Offset, Partition
from checkers.history.packing import Arrays, Types, no_rows, problem_with, require_places, unpacked_rows

TRANSACTION_STATES = "transaction-states"
"""Key of these observations."""
EVIDENCE_STATES = "transaction-states"
"""Their name in ``setup.evidence``."""

STATE_TYPES: Types = {
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


class StatesSeen(CoordinatorLogSeen, frozen=True, kw_only=True):
    """The records in one replica's log of a partition of ``__transaction_state``.

    Attributes:
        settled: the end of the same log before the replicas of the run's topics were read; None if unknown.
        ids: the transactional ids; the column ``id`` has their places in this list.
        sets: sets of partitions, each by topic; the column ``partitions`` has their places, -1 for none.
    """

    settled: Offset | None = None
    ids: list[str] = msgspec.field(default_factory=list)
    sets: list[dict[str, list[Partition]]] = msgspec.field(default_factory=list)


def state_columns(seen: StatesSeen) -> Arrays:
    """The columns of an observation, shape (count,), each in its own integer type; empty with an error.

    Raises:
        ValueError: a column is missing, has another length, or refers to an id or a set that is not listed.
    """
    if seen.is_unread:
        return no_rows(STATE_TYPES)
    columns = unpacked_rows(seen.columns, seen.count, STATE_TYPES, "records")
    require_places(columns, "id", seen.ids)
    require_places(columns, "partitions", seen.sets, least=-1)
    return columns


def states_problem(seen: StatesSeen) -> str | None:
    """The problem with the columns of an observation, or None."""
    return problem_with(state_columns, seen)
