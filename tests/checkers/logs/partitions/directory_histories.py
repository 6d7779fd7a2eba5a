"""Histories of a broker that leads a partition in a directory of its own; times in milliseconds."""

from collections.abc import Mapping
from typing import Any

from checkers.history.operations import History, OperationType
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory

STORAGE = 56
DIRECTORIES = ["792eyRB-iWnN5hXolHjMEQ", "pl2yURLxReyXmuf8pnFOsg", "MFiTHpFkTc2pb6S7PK9Bvw"]
NODES = [
    {"name": f"n{i}", "id": i, "roles": ["broker"] if i < 3 else ["controller", "broker"]} for i in (1, 2, 3)
]


class Story(AdminStory):
    """Broker 1 leads in epoch 0; broker 3 is the active controller too."""

    def __init__(self, directories: list[str] | None = None) -> None:
        super().__init__(nodes=NODES)
        self._pending: list[tuple[float, str, dict[str, Any]]] = []
        self.record(1, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID})
        partition = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
        placed = {} if directories == [] else {"directories": directories or DIRECTORIES}
        self.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition, **placed})

    def observe_leading(
        self, at_ms: float, error: int = STORAGE, leader: int = 1, epoch: int = 0, node: str = "n1"
    ) -> None:
        value = {
            "began_ns": round((at_ms - 1) * 1e6),
            "asked_ns": round(at_ms * 1e6),
            "topics": {TOPIC: [[0, leader, epoch, error]]},
        }
        self.observe(at_ms + 1, "leading", value, node=node)

    def record(self, at_ms: float, kind: str, data: Mapping[str, Any]) -> None:
        """Append a record once all are known, in the order of time."""
        self._pending.append((at_ms, kind, dict(data)))

    def commits(self, from_ms: int = 0, to_ms: int = 20_000) -> None:
        """The active controller writes a record of no effect every half second."""
        for at_ms in range(from_ms + 200, to_ms, 500):
            self.record(at_ms, "NO_OP_RECORD", {})

    def history(self, **options: Any) -> History:
        for at_ms, kind, data in sorted(self._pending, key=lambda one: one[0]):
            super().record(at_ms, kind, data)
        self._pending.clear()
        return super().history(**options)

    def dies(self, at_ms: float, heal_ms: float | None, **probe: Any) -> None:
        """The directory of broker 1 dies, and the broker runs on, as the probe shows."""
        self.fault(at_ms, heal_ms, "dead-disk", "n1", log_dir=2)
        proof = {"error": "EIO", "running": True, "directory_ids": [DIRECTORIES[0]]} | probe
        for operation in self._operations:
            if operation.f == "inject" and operation.type is OperationType.OK:
                operation.value["probe"] = proof

    def sends(
        self, at_ms: float, process: int, value: int, end_ms: float | None = None, **acked: int
    ) -> None:
        """A process sends a record, of which nothing is heard, or where it stands."""
        self.add(at_ms, process, OperationType.INVOKE, "send", key=TOPIC, value=[[0, value]])
        if end_ms is not None:
            how = "ok" if acked else "info"
            answer = [[0, value, acked.get("offset"), how]]
            self.add(end_ms, process, OperationType.OK, "send", key=TOPIC, value=answer)
