"""The states of share partitions that share coordinators wrote to ``__share_group_state``, as columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from checkers.columns.tables import GroupPartition
from checkers.evidence.coordinator_logs import CoordinatorLog, logs_of, unread_logs
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.history.operations import History, Operation, once
from checkers.history.packing import Arrays
from checkers.history.setup import recorded_setup
from checkers.history.share_states import (
    EVIDENCE_SHARES,
    SHARE_STATES,
    ShareStatesSeen,
    share_state_columns,
)


@dataclass(frozen=True, slots=True)
class ShareStatesLog(CoordinatorLog[ShareStatesSeen]):
    """The records of one partition of the topic, and the batches in them.

    Attributes:
        batches: columns of the batches, shape (batches,).
        row: shape (batches,), the record that each batch is in.
    """

    batches: Arrays
    row: np.ndarray[tuple[int], np.dtype[np.int64]]


@once
def share_states_of(history: History) -> Mapping[int, ShareStatesLog]:
    """The logs of the topic that were recorded, by partition number.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    return logs_of(history, SHARE_STATES, ShareStatesSeen, _log)


def _log(seen: ShareStatesSeen, operation: Operation) -> ShareStatesLog:
    records, batches = share_state_columns(seen)
    row = np.repeat(np.arange(len(records["batches"])), records["batches"])
    bare = msgspec.structs.replace(seen, columns={}, batches={})
    return ShareStatesLog(bare, operation.index, operation.time_ns, records, batches, row)


def unread_share_states(history: History) -> Iterator[str]:
    """Yield why the states are not known completely, although the run had to gather them.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    return unread_logs(history, SHARES_TOPIC, EVIDENCE_SHARES, share_states_of(history))


def share_places(history: History, log: ShareStatesLog) -> list[GroupPartition | None]:
    """The share partitions of a log by code; None for those of topics that the run did not create."""
    names = {topic.topic_id: topic.name for topic in recorded_setup(history).topics if topic.topic_id}
    return [
        GroupPartition(group, names[topic], partition) if topic in names else None
        for group, topic, partition in log.seen.places
    ]
