"""The logs in which coordinators keep their states, as columns, and what is not known of them.

Each partition of such a topic was read at the end from one replica, the one with the newest leader epoch.  A
log that has a record of a leader epoch has everything that the leader of this epoch had before it (KIP-101).
So the log has what each of its coordinators knew, except what compaction, or the deletion of old records,
removed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.evidence.partition_changes import partition_changes
from checkers.history.coordinator_logs import CoordinatorLogSeen
from checkers.history.operations import History, Operation
from checkers.history.packing import Arrays
from checkers.history.setup import recorded_setup

Seen = TypeVar("Seen", bound=CoordinatorLogSeen)
_Log = TypeVar("_Log")


@dataclass(frozen=True, slots=True)
class CoordinatorLog(Generic[Seen]):
    """The records of one partition of the topic.

    Attributes:
        seen: the observation, without its columns.
        op: index of the observation in the history.
        time_ns: when it was reported.
        records: columns of the records by the names of docs/histories.md, shape (records,), each in its own
            integer type.
    """

    seen: Seen
    op: int
    time_ns: int
    records: Arrays

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether records are missing, or may be, before each record; shape (records,)."""
        offsets = self.records["offset"].astype(np.int64)
        missing: NDArray[np.bool_] = np.diff(offsets, prepend=-1) != 1
        return missing

    @property
    def lacks_end(self) -> bool:
        """Whether records are missing, or may be, after the last record."""
        offsets = self.records["offset"]
        return self.seen.end != (int(offsets[-1]) + 1 if len(offsets) else 0)

    @property
    def whole(self) -> bool:
        """Whether it has all records that were ever written, from offset 0 to its end."""
        known = self.seen.error is None and not self.seen.unread
        return known and not self.lacks_end and not self.gaps.any()


def logs_of(
    history: History, key: str, kind: type[Seen], log_of: Callable[[Seen, Operation], _Log]
) -> dict[int, _Log]:
    """The logs of a topic that were recorded, by partition number.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        key: key of the observations.
        kind: type of their values.
        log_of: makes a log of an observation.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: dict[int, _Log] = {}
    for operation in history.observed(key):
        seen = msgspec.convert(operation.value, kind)
        found[seen.partition] = log_of(seen, operation)
    return found


def unread_logs(
    history: History, topic: str, evidence: str, known: Mapping[int, CoordinatorLog[Seen]]
) -> Iterator[str]:
    """Yield why the records of a topic are not known completely, although the run had to gather them.

    There is a reason for each partition: its log was not read, has records that can't be decoded, or was not
    gathered.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        topic: the topic.
        evidence: name of the observations in ``setup.evidence``.
        known: the logs that were recorded, by partition number.

    Raises:
        msgspec.ValidationError: an observation or the set-up is not as docs/histories.md says.
    """
    for number, log in sorted(known.items()):
        if log.seen.error is not None:
            yield f"{topic}-{number} was not read: {log.seen.error}"
        elif log.seen.unread:
            yield f"{topic}-{number} has records that can't be decoded, at {log.seen.unread[0]}"
    if evidence in recorded_setup(history).evidence:
        made = {name.partition for name in partition_changes(history).states if name.topic == topic}
        for number in sorted(made - known.keys()):
            yield f"the records of {topic}-{number} were not gathered"
