"""The states of transactional ids that coordinators wrote to ``__transaction_state``, as columns.

Each partition of the topic was read at the end from one replica, the one with the newest leader epoch.  A log
that has a record of a leader epoch has everything that the leader of this epoch had before it (KIP-101).  So
the log has what each of its coordinators knew, except what compaction removed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup
from checkers.history.transaction_states import (
    EVIDENCE_STATES,
    TRANSACTION_STATES,
    StatesSeen,
    state_columns,
)


@dataclass(frozen=True, slots=True)
class StatesLog:
    """The records of one partition of the topic.

    Attributes:
        seen: the observation, without its columns.
        op: index of the observation in the history.
        time_ns: when it was reported.
        columns: by the names of docs/histories.md, shape (records,), each in its own integer type.
    """

    seen: StatesSeen
    op: int
    time_ns: int
    columns: Mapping[str, NDArray[Any]]

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether records are missing, or may be, before each record; shape (records,)."""
        offsets = self.columns["offset"].astype(np.int64)
        missing: NDArray[np.bool_] = np.diff(offsets, prepend=-1) != 1
        return missing

    @property
    def whole(self) -> bool:
        """Whether it has all records that were ever written, from offset 0 to its end."""
        rows = self.columns["offset"]
        end = int(rows[-1]) + 1 if len(rows) else 0
        return self.seen.error is None and end == self.seen.end and not self.gaps.any()


@once
def states_of(history: History) -> Mapping[int, StatesLog]:
    """The logs of the topic that were recorded, by partition number.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    found: dict[int, StatesLog] = {}
    for operation in history.observed(TRANSACTION_STATES):
        seen = msgspec.convert(operation.value, StatesSeen)
        columns = state_columns(seen)
        bare = msgspec.structs.replace(seen, columns={})
        found[seen.partition] = StatesLog(bare, operation.index, operation.time_ns, columns)
    return found


def unread_states(history: History) -> str | None:
    """The reason why the states are not known completely, although the run had to gather them; else None.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    known = states_of(history)
    for number, log in sorted(known.items()):
        if log.seen.error is not None:
            return f"{TRANSACTIONS_TOPIC}-{number} was not read: {log.seen.error}"
        if log.seen.unread:
            return f"{TRANSACTIONS_TOPIC}-{number} has records that can't be decoded, at {log.seen.unread[0]}"
    if EVIDENCE_STATES in recorded_setup(history).evidence:
        made = partition_changes(history).states
        absent = sorted(
            name.partition
            for name in made
            if name.topic == TRANSACTIONS_TOPIC and name.partition not in known
        )
        if absent:
            return f"the records of {TRANSACTIONS_TOPIC}-{absent[0]} were not gathered"
    return None
