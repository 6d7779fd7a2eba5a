"""Histories with records of ``__transaction_state``; each record is given by its state and what matters."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkers.history.packing import packed_rows
from checkers.history.transaction_states import STATE_TYPES, Status
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

TOPIC = "__transaction_state"
EMPTY, ONGOING, COMMITTING, ABORTING, COMMITTED, ABORTED = (
    Status.EMPTY,
    Status.ONGOING,
    Status.PREPARE_COMMIT,
    Status.PREPARE_ABORT,
    Status.COMPLETE_COMMIT,
    Status.COMPLETE_ABORT,
)
REMOVED = Status.REMOVED


class Record(NamedTuple):
    """A record of the log; its offset is its place, unless it has another one."""

    status: int
    epoch: int = 0
    producer: int = 7
    partitions: Sequence[int] = ()
    next_id: int = -1
    name: str = "a"
    leader_epoch: int = 0
    offset: int | None = None
    topic: str = "log-0"
    version: int = 0
    updated_ms: int = 2
    started_ms: int = 2


def states(*records: Record, partition: int = 0, **changes: Any) -> dict[str, Any]:
    """The value of an observation."""
    ids: dict[str, int] = {}
    sets: list[Mapping[str, Sequence[int]]] = []
    rows = []
    for place, record in enumerate(records):
        offset = place if record.offset is None else record.offset
        if record.partitions:
            sets.append({record.topic: list(record.partitions)})
        where = len(sets) - 1 if record.partitions else -1
        name = ids.setdefault(record.name, len(ids))
        producer = (record.producer, record.epoch, -1, record.next_id, -1, record.version, 6000)
        times = (record.updated_ms, record.started_ms)
        rows.append((offset, record.leader_epoch, name, record.status, *producer, where, *times))
    value = {"began_ns": 1, "partition": partition, "end": rows[-1][0] + 1 if rows else 0, "unread": []}
    value |= {"ids": [*ids], "sets": sets, "count": len(rows), "error": None}
    value |= {"columns": packed_rows(rows, STATE_TYPES)}
    return value | changes


def story_of(*values: dict[str, Any], leaders: Sequence[int] = (), **setup: Any) -> AdminStory:
    """A story with these observations, and with the leaders of the leader epochs of partition 0 from 0 on."""
    story = AdminStory(**setup)
    if leaders:
        story.record(1, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID})
        made = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": leaders[0], "leaderEpoch": 0}
        story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **made})
        for at_ms, leader in enumerate(leaders[1:], start=3):
            story.changed(at_ms, leader=leader)
    for value in values:
        story.observe(800, "transaction-states", value)
    return story
