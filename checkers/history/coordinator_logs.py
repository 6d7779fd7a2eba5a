"""What observations of coordinators' logs have in common, as they are read from brokers' disks at the end.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  A log has tens of thousands of
records, so they are columns, packed as those of replicas (`checkers.history.packing`).
"""

import msgspec

from checkers.history.fields import Offset, Partition
from checkers.history.replicas import Natural


class CoordinatorLogSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The records in one replica's log of a partition in which a coordinator keeps its states.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        partition: number of the partition.
        end: the offset after the last whole batch.
        unread: first offsets of the batches with a record that could not be decoded.
        count: number of records.
        columns: packed columns of the records by name; none if the log could not be read.
        error: why the log could not be read.
    """

    began_ns: Natural
    partition: Partition
    end: Offset = 0
    unread: list[Offset] = []
    count: Natural = 0
    columns: dict[str, str] = {}
    error: str | None = None

    @property
    def is_unread(self) -> bool:
        """Whether the log could not be read and has no columns."""
        return self.error is not None and not self.columns
