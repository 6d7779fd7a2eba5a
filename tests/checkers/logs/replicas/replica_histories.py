"""Histories that tell of replicas: batches in a line of numbers, nodes n1 to n3, one topic ``log-0``."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from checkers.history.operations import History, Operation, OperationType
from checkers.history.packing import pack
from checkers.history.replicas import COLUMN_TYPES, METADATA_LOG, METADATA_TOPIC, REPLICA

TOPIC_ID = "pl2yURLxReyXmuf8pnFOsg"
NODES = ("n1", "n2", "n3")
SETUP: dict[str, Any] = {
    "nodes": [{"name": name, "id": place} for place, name in enumerate(NODES, start=1)],
    "topics": [{"name": "log-0", "topic_id": TOPIC_ID, "partitions": 1}],
    "evidence": ["replicas"],
}


class Batch(NamedTuple):
    """One batch; numbers as in docs/histories.md, those that matter here."""

    base_offset: int
    count: int = 1  # type: ignore[assignment]  # the column has the name of a method of tuples
    leader_epoch: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    crc: int = 1
    attributes: int = 0
    control: int = -1
    coordinator_epoch: int = -1

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.count - 1


def packed(batches: Sequence[Batch]) -> dict[str, str]:
    """Columns as they stand in a history."""
    return {
        name: pack(np.array([getattr(batch, name) for batch in batches], dtype=dtype), name, COLUMN_TYPES)
        for name, dtype in COLUMN_TYPES.items()
    }


def replica(batches: Sequence[Batch], **fields: Any) -> dict[str, Any]:
    """The value of a ``replica`` observation; `fields` override its fields."""
    return {
        "began_ns": 0,
        "topic": "log-0",
        "partition": 0,
        "topic_id": TOPIC_ID,
        "log_start": min((batch.base_offset for batch in batches), default=0),
        "end": max((batch.last_offset + 1 for batch in batches), default=0),
        "segments": 1,
        "bytes": 61 * len(batches),
        "count": len(batches),
        "tail": None,
        "corrupt": [],
        "error": None,
        "batches": packed(batches),
        **fields,
    }


def unread(error: str = "PermissionError: Permission denied", **fields: Any) -> dict[str, Any]:
    """The same where the log could not be read."""
    usual = {"began_ns": 0, "topic": "log-0", "partition": 0, "count": 0, "batches": {}, "error": error}
    return {**usual, **fields}


def metadata(batches: Sequence[Batch], **fields: Any) -> dict[str, Any]:
    """The value of a ``metadata-log`` observation."""
    return replica(batches, **{"topic": METADATA_TOPIC, "records": [], **fields})


def final_read(end: int | None, *, kind: str = "info", partition: int = 0, start: int = 0) -> Operation:
    """A final read that listed this start and end, and did not come to it."""
    asked = {"client": "c", "isolation": "read_uncommitted", "partition": partition}
    value = asked if end is None else {**asked, "start": start, "end": end, "position": end, "records": []}
    return Operation(0, 0, "reader", OperationType(kind), "final-read", "log-0", value)


def recovered(isr: Sequence[int] = (1, 2, 3), leader: int | None = 1) -> Operation:
    """The end of recovery, of the one partition."""
    state = {"topic": "log-0", "partition": 0, "leader": leader, "isr": list(isr)}
    return Operation(0, 0, "runner", OperationType.OK, "recover", "log-0", {"partitions": [state]})


def leads(
    node: str, high_watermark: int, *, epoch: int = 1, ends: Mapping[int, int] | None = None
) -> Operation:
    """The answer of a leader of the quorum that knows how far nodes have fetched; n3 only observes."""
    fetched = [[number, None, end, -1, -1] for number, end in (ends or {1: 99, 2: 99, 3: 99}).items()]
    value = {
        "began_ns": 0,
        "answer": "leader",
        "leader_id": 1,
        "leader_epoch": epoch,
        "high_watermark": high_watermark,
        "wall_ms": 0,
        "voters": fetched[:2],
        "observers": fetched[2:],
    }
    return Operation(0, 0, "observer-quorum", OperationType.OK, "observe", "quorum", value, node=node)


def observed(node: str, value: Mapping[str, Any]) -> Operation:
    """What was observed of one log on one node."""
    key = METADATA_LOG if value["topic"] == METADATA_TOPIC else REPLICA
    return Operation(0, 5, "observer-replicas", OperationType.OK, "observe", key, value, node=node)


def history_of(*operations: Operation, setup: Mapping[str, Any] | None = None) -> History:
    """A history of these operations after a set-up, whose fields `setup` overrides."""
    first = Operation(0, 0, "runner", OperationType.OK, "setup", None, SETUP | dict(setup or {}))
    placed = [
        Operation(i, o.time_ns, o.process, o.type, o.f, o.key, o.value, node=o.node)
        for i, o in enumerate((first, *operations))
    ]
    return History("run", "", tuple(placed))


def replicated(
    logs: Mapping[str, Sequence[Batch] | Mapping[str, Any]],
    end: int,
    *,
    isr: Sequence[int] = (1, 2, 3),
    leader: int | None = 1,
    setup: Mapping[str, Any] | None = None,
) -> History:
    """A run at whose end the nodes held these logs, from no later than a final read listed on.

    Values may be given in full.
    """
    values = {node: log if isinstance(log, Mapping) else replica(log) for node, log in logs.items()}
    start = max((value.get("log_start") or 0 for value in values.values()), default=0)
    observations = [observed(node, value) for node, value in values.items()]
    return history_of(recovered(isr, leader), final_read(end, start=start), *observations, setup=setup)
