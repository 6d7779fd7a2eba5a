"""Histories of partitions under administration; times in milliseconds, brokers n1 to n3 with ids 1 to 3.

The metadata log is given record by record; before and after each the quorum's leader reports its log's end,
so that the record's time is known to within a millisecond.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from checkers.history.operations import History, Operation, OperationType
from tests.checkers.log_histories import MS
from tests.checkers.logs.replicas.replica_histories import Batch, metadata, replica

TOPIC = "log-0"
TOPIC_ID = "pl2yURLxReyXmuf8pnFOsg"
READER = {"client": "kafka-python", "isolation": "read_uncommitted"}
SETUP: dict[str, Any] = {
    "kafka_version": "4.3.1",
    "nodes": [{"name": f"n{i}", "id": i, "roles": ["broker", "controller"]} for i in (1, 2, 3)],
    "topics": [{"name": TOPIC, "partitions": 1, "config": {"min.insync.replicas": "2"}}],
    "features": {"eligible.leader.replicas.version": 1},
    "controller_fetch_timeout_ms": 2,
    "observe_interval_ms": 1,
    "assumptions": dict.fromkeys(
        ("acked_before", "acked_after", "invoked_during", "fault_held_ms", "recovery_ms"), 0
    ),
}


CLEAN_STOP: dict[str, Any] = {"ends_processes": True, "silences": True, "ends_cleanly": True}
CLEAN_STOP |= dict.fromkeys(("tears_writes", "loses_unsynced", "wipes"), False)
"""Effects of an upgrade, which its operations state."""


class AdminStory:
    """Collects operations in any order; `history` puts them in the order of their times.

    Attributes:
        epoch: the quorum's epoch in which the next records are appended.
    """

    def __init__(self, **setup: Any) -> None:
        self._operations: list[Operation] = []
        self.records: list[list[Any]] = []
        self.epoch = 1
        self.add(0, "runner", OperationType.OK, "setup", value=SETUP | setup)

    def add(self, at_ms: float, process: int | str, kind: OperationType, f: str, **fields: Any) -> None:
        """Add one operation."""
        self._operations.append(Operation(0, round(at_ms * MS), process, kind, f, **fields))

    def both(
        self, at_ms: float, end_ms: float | None, f: str, asked: Any, *, answer: Any = None, **fields: Any
    ) -> None:
        """Add an invocation and, where it ends, its completion; ``how`` is its type."""
        how, process = OperationType(fields.pop("how", "ok")), f"admin-{len(self._operations)}"
        self.add(at_ms, process, OperationType.INVOKE, f, value=asked, **fields)
        if end_ms is not None:
            value = answer if how is OperationType.OK and answer is not None else asked
            self.add(end_ms, process, how, f, value=value, **fields)

    def observe(self, at_ms: float, key: str, value: Any, *, node: str = "n1") -> None:
        """Add an observation."""
        self.add(at_ms, f"observer-{node}", OperationType.OK, "observe", key=key, value=value, node=node)

    def record(self, at_ms: float, kind: str, data: Mapping[str, Any]) -> None:
        """Append a record to the metadata log; the quorum's leader reports its log's end before and after."""
        offset = len(self.records)
        self.records.append([offset, self.epoch, kind, dict(data)])
        for when, end in ((at_ms - 0.4, offset), (at_ms + 0.4, offset + 1)):
            value = {
                "began_ns": round((when - 0.1) * MS),
                "answer": "leader",
                "leader_id": 1,
                "leader_epoch": self.epoch,
                "high_watermark": end,
                "wall_ms": 0,
                "voters": [[1, None, end, -1, -1]],
                "observers": [],
            }
            self.observe(when, "quorum", value)

    def created(
        self, replicas: Sequence[int] = (1, 2, 3), at_ms: float = 1, *, leader: int | None = None
    ) -> None:
        """Create the topic's one partition."""
        self.record(at_ms, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID})
        leader = replicas[0] if leader is None else leader
        partition = {"replicas": list(replicas), "isr": list(replicas), "leader": leader, "leaderEpoch": 0}
        self.record(at_ms + 1, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})

    def changed(self, at_ms: float, **fields: Any) -> None:
        """Change the partition; fields as Kafka names them."""
        self.record(at_ms, "PARTITION_CHANGE_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **fields})

    def elect(
        self,
        at_ms: float,
        end_ms: float | None = None,
        *,
        kind: str = "unclean",
        code: int | None = 0,
        how: str = "ok",
        all_partitions: bool = False,
    ) -> None:
        """Ask for an election of the partition, or of all; a code of None leaves it out of the answer."""
        asked = {"partitions": None if all_partitions else [[TOPIC, 0]], "to": "n1"}
        results = [] if code is None else [[TOPIC, 0, code, None]]
        answer = asked | {"code": 0, "results": results, "took_ms": 1}
        self.both(at_ms, end_ms, "elect-leaders", asked, answer=answer, key=kind, how=how)

    def reassign(
        self,
        at_ms: float,
        end_ms: float | None,
        target: Sequence[int] | None,
        *,
        code: int | None = 0,
        how: str = "ok",
    ) -> None:
        """Ask for other replicas, or to cancel."""
        asked = {
            "targets": [[TOPIC, 0, None if target is None else list(target)]],
            "throttle_bytes_per_s": None,
            "to": "n1",
        }
        results = [] if code is None else [[TOPIC, 0, code, None]]
        answer = asked | {"code": 0, "message": None, "results": results, "took_ms": 1}
        self.both(at_ms, end_ms, "alter-reassignments", asked, answer=answer, how=how)

    def view(
        self,
        at_ms: float,
        epoch: int,
        isr: Sequence[int],
        *,
        nodes: Sequence[int] = (1, 2, 3),
        replicas: Sequence[int] = (1, 2, 3),
        partition: int = 0,
    ) -> None:
        """Some brokers tell how the partition stands."""
        leader = isr[0] if isr else -1
        state = [partition, leader, epoch, list(replicas), list(isr), None]
        value = {"began_ns": round((at_ms - 0.1) * MS), "topics": {TOPIC: [state]}}
        for node in nodes:
            self.observe(at_ms, "partitions", value, node=f"n{node}")

    def epochs(self, *entries: tuple[int, int], at_ms: float = 900, node: str = "n1") -> None:
        """A replica noted where leader epochs began."""
        value = {"node": node, "topic": TOPIC, "partition": 0, "entries": [list(each) for each in entries]}
        self.observe(at_ms, "leader-epochs", value, node=node)

    def begun(
        self, epoch: int, start: int, *, node: str = "n1", previous: int = 0, topic_id: str = "pl2yURLx"
    ) -> None:
        """A broker logged that it begins a leader epoch."""
        line = {"line": 1, "at": "2026-11-26T05:11:18.022Z", "topic": TOPIC, "topic_id": topic_id}
        begun = {"partition": 0, "epoch": epoch, "start": start, "previous_epoch": previous}
        self.observe(900, "epoch-begun", line | begun, node=node)

    def batches(self, *batches: Batch, node: str = "n1") -> None:
        """What lay on a replica's disk."""
        value = replica(batches)
        self.observe(900, "replica", value, node=node)

    def fault(
        self,
        at_ms: float,
        heal_ms: float | None,
        kind: str,
        *nodes: str,
        removed: Sequence[str] | None = None,
        flushed: Sequence[tuple[str, int, int, int]] | None = None,
        cut: Sequence[tuple[str, str]] = (),
        **spec: Any,
    ) -> None:
        """Inject a fault and heal it, each proven soon.

        Args:
            at_ms: when.
            heal_ms: when it is healed; None: never.
            kind: of the fault.
            nodes: its targets.
            removed: what is gone from their disks.
            flushed: topic, partition, recovery point and end of logs that are left there.
            cut: pairs of nodes.
            spec: of the fault.
        """
        key = f"f{sum(o.f == 'inject' and o.type is OperationType.INVOKE for o in self._operations) + 1}"
        plan = {"kind": kind, "spec": spec} | (CLEAN_STOP if kind == "upgrade" else {})
        done = plan | {
            "targets": list(nodes),
            "cut": [list(each) for each in cut],
            "probe": ({} if removed is None else {"removed": removed})
            | ({} if flushed is None else {"flushed": [list(each) for each in flushed]}),
        }
        self.add(at_ms, "nemesis", OperationType.INVOKE, "inject", key=key, value=plan)
        self.add(at_ms + 0.5, "nemesis", OperationType.OK, "inject", key=key, value=done)
        if heal_ms is not None:
            self.add(heal_ms, "nemesis", OperationType.INVOKE, "heal", key=key, value=plan)
            self.add(heal_ms + 0.5, "nemesis", OperationType.OK, "heal", key=key, value=done)

    def send(self, at_ms: float, value: int, offset: int, *, until_ms: float | None = None) -> None:
        """A record that was acknowledged at once, or at a later time."""
        process = len(self._operations)
        ended_ms = at_ms + 0.5 if until_ms is None else until_ms
        self.add(at_ms, process, OperationType.INVOKE, "send", key=TOPIC, value=[[0, value]])
        self.add(ended_ms, process, OperationType.OK, "send", key=TOPIC, value=[[0, value, offset, "ok"]])

    def final(self, *records: tuple[int, int], end: int, at_ms: float = 800) -> None:
        """A final read of the partition: offsets and values."""
        asked = READER | {"partition": 0}
        bounds = {"start": 0, "end": end, "position": end}
        chunks = [[0, [offset for offset, _ in records], [value for _, value in records]]]
        self.add(at_ms, "reader", OperationType.INVOKE, "final-read", key=TOPIC, value=asked)
        answer = asked | bounds | {"records": chunks}
        self.add(at_ms + 0.5, "reader", OperationType.OK, "final-read", key=TOPIC, value=answer)

    def history(self, *, metadata_log: bool = True, cut: int | None = None, **fields: Any) -> History:
        """All of it; without the metadata log, with its beginning alone, or some of its fields changed."""
        operations = list(self._operations)
        if metadata_log:
            records = self.records[:cut]
            value = metadata([Batch(0, len(records) or 1)], records=records) | fields
            log = Operation(
                0,
                900 * MS,
                "observer-replicas",
                OperationType.OK,
                "observe",
                "metadata-log",
                value,
                node="n1",
            )
            operations.append(log)
        operations.sort(key=lambda operation: operation.time_ns)
        placed = [msgspec.structs.replace(operation, index=i) for i, operation in enumerate(operations)]
        return History("run", "", tuple(placed))
