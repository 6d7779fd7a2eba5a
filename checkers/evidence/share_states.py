"""The states of share partitions that share coordinators wrote to ``__share_group_state``, as columns.

Each partition of the topic was read at the end from one replica, the one with the newest leader epoch.  So
its log has what each of its coordinators knew (`checkers.evidence.transaction_states`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from checkers.columns.tables import GroupPartition
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import History, once
from checkers.history.packing import Arrays
from checkers.history.setup import recorded_setup
from checkers.history.share_states import (
    EVIDENCE_SHARES,
    SHARE_STATES,
    ShareStatesSeen,
    share_state_columns,
)


@dataclass(frozen=True, slots=True)
class ShareStatesLog:
    """The records of one partition of the topic.

    Attributes:
        seen: the observation, without its columns.
        op: index of the observation in the history.
        time_ns: when it was reported.
        records: columns of the records by the names of docs/histories.md, shape (records,).
        batches: columns of the batches, shape (batches,).
        row: shape (batches,), the record that each batch is in.
    """

    seen: ShareStatesSeen
    op: int
    time_ns: int
    records: Arrays
    batches: Arrays
    row: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def whole(self) -> bool:
        """Whether it has all records that were ever written, from offset 0 to its end."""
        offsets = self.records["offset"].astype(np.int64)
        complete = len(offsets) == self.seen.end and not self.seen.unread
        return self.seen.error is None and complete and bool((offsets == np.arange(len(offsets))).all())


@once
def share_states_of(history: History) -> Mapping[int, ShareStatesLog]:
    """The logs of the topic that were recorded, by partition number.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    found: dict[int, ShareStatesLog] = {}
    for operation in history.observed(SHARE_STATES):
        seen = msgspec.convert(operation.value, ShareStatesSeen)
        records, batches = share_state_columns(seen)
        row = np.repeat(np.arange(len(records["batches"])), records["batches"])
        bare = msgspec.structs.replace(seen, columns={}, batches={})
        found[seen.partition] = ShareStatesLog(
            bare, operation.index, operation.time_ns, records, batches, row
        )
    return found


def unread_share_states(history: History) -> Iterator[str]:
    """Yield why the states are not known completely, although the run had to gather them.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    known = share_states_of(history)
    for number, log in sorted(known.items()):
        if log.seen.error is not None:
            yield f"{SHARES_TOPIC}-{number} was not read: {log.seen.error}"
        elif log.seen.unread:
            yield f"{SHARES_TOPIC}-{number} has records that can't be decoded, at {log.seen.unread[0]}"
    if EVIDENCE_SHARES in recorded_setup(history).evidence:
        made = partition_changes(history).states
        absent = sorted({name.partition for name in made if name.topic == SHARES_TOPIC} - known.keys())
        if absent:
            yield f"the records of {SHARES_TOPIC}-{absent[0]} were not gathered"


def share_places(history: History, log: ShareStatesLog) -> list[GroupPartition | None]:
    """The share partitions of a log by code; None for those of topics that the run did not create."""
    names = {topic.topic_id: topic.name for topic in recorded_setup(history).topics if topic.topic_id}
    return [
        GroupPartition(group, names[topic], partition) if topic in names else None
        for group, topic, partition in log.seen.places
    ]
