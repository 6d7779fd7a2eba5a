"""Histories of commits of group g in an offsets topic with one partition; times in milliseconds."""

from typing import Any

from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.operations import History, OperationType
from tests.checkers.admin_histories import TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS

REGISTER = "offset/g/t/2"
Stretch = tuple[int, int, int, int | None, list[list[Any]] | None]
"""Leader epoch, begin, end, epoch before it, records."""


def record(offset: int, committed: int = 77) -> list[Any]:
    """Where the commit of group g stands."""
    return [offset, "g", "t", 2, committed]


def read(recording: AdminStory, *stretches: Stretch, at_ms: float = 150, **others: list[list[Any]]) -> None:
    """What was read of the offsets topic's one partition; the other fields by their names."""
    stretched = {"began_ns": round((at_ms - 0.1) * MS), "stretches": [[0, *each] for each in stretches]}
    value = stretched | {name: [[0, *each] for each in some] for name, some in others.items()}
    recording.add(at_ms, "observer-commits", OperationType.OK, "observe", key="commits", value=value)


def look(recording: AdminStory, at_ms: float, **ends: int) -> None:
    """Where the logs of some nodes ended."""
    nodes = {node: {OFFSETS_TOPIC: [[0, end]]} for node, end in ends.items()}
    value = {"began_ns": round((at_ms - 0.1) * MS), "nodes": nodes}
    recording.add(at_ms, "observer-ends", OperationType.OK, "observe", key="ends", value=value)


def add_commit(
    recording: AdminStory,
    at_ms: float = 100,
    *,
    f: str = "write",
    key: str = REGISTER,
    value: Any = 77,
    how: OperationType | None = OperationType.OK,
    process: int = 4,
) -> None:
    """A commit, answered half a millisecond later."""
    recording.add(at_ms, process, OperationType.INVOKE, f, key=key, value=value)
    if how is not None:
        recording.add(at_ms + 0.5, process, how, f, key=key, value=value)


def led(**setup: Any) -> AdminStory:
    """The offsets topic has one partition, which broker 1 leads in epoch 0."""
    recording = AdminStory(**setup)
    recording.record(1, "TOPIC_RECORD", {"name": OFFSETS_TOPIC, "topicId": TOPIC_ID})
    state = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    recording.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **state})
    return recording


def history_of(recording: AdminStory) -> History:
    return recording.history(began_ns=20_000 * MS)
