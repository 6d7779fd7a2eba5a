"""Histories in which a broker lost power, and then has a hole in its log."""

from collections.abc import Sequence
from typing import Any

from checkers.history.operations import OperationType
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, replica

WHOLE = [Batch(offset, producer_id=7, producer_epoch=0, base_sequence=offset) for offset in range(6)]
HOLED = [WHOLE[0], *WHOLE[3:]]
"""Offsets 1 and 2 are missing; they were in the segments 1 and 2."""
SEGMENTS = (0, 1, 2, 3)


def told(
    *,
    held: Sequence[Batch] = HOLED,
    segments: Sequence[int] | None = SEGMENTS,
    fault: str | None = "power-loss",
    hit: str = "n1",
    loaded: int | None = 3,
    log_start: int = 0,
    leader: int = 1,
    **setup: Any,
) -> AdminStory:
    """A run in which n1 loses power and has a hole in its log, and n2 has all records."""
    story = AdminStory(**setup)
    story.created(leader=leader)
    for value in range(6):
        story.send(30 + value, value, value)
    if fault is not None:
        story.fault(100, 200, fault, hit)
    if loaded is not None:
        line = {"line": 9, "at": "then", "topic": TOPIC, "partition": 0, "end": loaded}
        story.observe(300, "loaded", line, node="n1")
    in_sync = {"topic": TOPIC, "partition": 0, "leader": leader, "isr": [1, 2]}
    story.add(699, "runner", OperationType.INVOKE, "recover", key=TOPIC)
    story.add(700, "runner", OperationType.OK, "recover", key=TOPIC, value={"partitions": [in_sync]})
    story.final(*((batch.base_offset, batch.base_offset) for batch in held), end=6)
    for node, batches in (("n1", held), ("n2", WHOLE)):
        story.observe(900, "replica", replica(batches, log_start=log_start), node=node)
    if segments is not None:
        indexes = [[segment, []] for segment in segments]
        indexed = {"began_ns": 1, "topic": TOPIC, "partition": 0, "segments": indexes}
        story.observe(901, "aborted-transactions", indexed, node="n1")
    return story
