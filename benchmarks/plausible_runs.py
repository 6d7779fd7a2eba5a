"""Writes stores of runs as a chaos scenario leaves them: batches, polls, faults, observers, a final read.

All runs of a store have the same history under different ids, so that a thousand are written in seconds.
"""

import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from checkers.history.identity import HostIdentity, RunIdentity, encode_identity
from checkers.history.operations import History, JournalHeader, Operation, OperationType
from checkers.history.reading import read_history
from checkers.judge import judge
from results.store.runs import save_verdict

OPERATIONS = 10_000
"""Records sent, records returned and other operations of one run, about."""
S = 10**9
TOPIC = "log-0"
NODES = ("n1", "n2", "n3")
PARTITIONS = 6
PRODUCERS = 4
BATCH = 10
POLL = 50
READERS = tuple(
    (client, isolation)
    for client in ("kafka-python", "confluent-kafka")
    for isolation in ("read_uncommitted", "read_committed")
)
CONSUMERS = READERS[0], READERS[3]
COPIES = 1 + len(CONSUMERS) + len(READERS)
LOAD_S = 60
FAULTS = (("f1", "partition", 10), ("f2", "kill", 25), ("f3", "pause", 40))
HELD_S = 7
TARGET = "n3"
_SETUP = {
    "kafka_version": "4.3.1", "scenario": "exploratory/chaos", "seed": 7, "mode": "combined",
    "quorum": "static", "features": {"kraft.version": 1}, "controller_fetch_timeout_ms": 2000,
    "observe_interval_ms": 1000,
    "nodes": [{"name": node, "id": i, "roles": ["broker", "controller"]} for i, node in enumerate(NODES, 1)],
    "topics": [{"name": TOPIC, "partitions": PARTITIONS, "replication_factor": 3, "config": {}}],
    "config": {}, "workload": {"kind": "log", "acks": "all", "idempotent": True, "producers": PRODUCERS,
                               "consumers": len(CONSUMERS)},
    "assumptions": {"acked_before": 100, "acked_after": 100, "invoked_during": 20, "fault_held_ms": 5000,
                    "recovery_ms": 60000},
    "planned_faults": len(FAULTS), "final_readers": len(READERS), "evidence": [], "expected": "valid",
    "expected_anomalies": [],
}  # fmt: skip


def write_store(root: Path, runs: int, operations: int = OPERATIONS) -> None:
    """Runs of three versions, on ten days."""
    journals, verdict_of = _journals(operations), None
    for number in range(runs):
        day, version = number % 10 + 1, ("4.1.1", "4.2.0", "4.3.1")[number % 3]
        folder = root / "exploratory" / "chaos" / f"202611{day:02}T{number // 10:06}Z-{number}"
        folder.mkdir(parents=True)
        began_at = f"2026-11-{day:02}T12:00:00Z"
        identity = RunIdentity(
            run=f"{number:08x}", scenario="exploratory/chaos", seed=number, kafka_version=version,
            began_at=began_at, reproduce=f"krucible run exploratory/chaos --seed {number}",
            krucible_commit="bench", host=HostIdentity(kernel="6.1", cpus=2),
        )  # fmt: skip
        (folder / "run.json").write_bytes(encode_identity(identity))
        for name, body in journals.items():
            header = msgspec.json.encode(JournalHeader(1, identity.run, name, began_at))
            (folder / f"history-{name}.jsonl").write_bytes(header + b"\n" + body)
        if verdict_of is None:
            verdict_of = judge(read_history(folder))
        save_verdict(folder, verdict_of)


def remove_store(root: Path) -> None:
    """Delete the store with all its runs."""
    shutil.rmtree(root)


def _journals(operations: int) -> dict[str, bytes]:
    history = plausible_history(operations)
    told: dict[str, list[bytes]] = defaultdict(list)
    for operation in history.operations:
        journal = told[str(operation.process)]
        journal.append(msgspec.json.encode(msgspec.structs.replace(operation, index=len(journal))) + b"\n")
    return {name: b"".join(lines) for name, lines in told.items()}


def plausible_history(operations: int) -> History:
    """A correct history of a minute of load under three faults."""
    told = _Told()
    told.runner()
    told.faults()
    told.observations()
    told.load(max(1, operations // COPIES // (BATCH * PRODUCERS)))
    return told.history()


def _answer(number: int, at_s: int) -> dict[str, Any]:
    """What a controller answers; the first one leads."""
    if number > 1:
        return {"answer": "not-leader"}
    voters = [[i, None, at_s, at_s * 1000, at_s * 1000] for i in range(1, len(NODES) + 1)]
    leads = {"answer": "leader", "leader_id": 1, "leader_epoch": 1, "high_watermark": at_s}
    return leads | {"wall_ms": at_s * 1000, "voters": voters, "observers": []}


def _state(number: int) -> dict[str, Any]:
    """A node's quorum-state file."""
    voted = {"voted_id": 1 if number > 1 else -1, "voted_directory_id": None}
    return {"directory_id": f"disk-{number}", "leader_id": 1, "leader_epoch": 1} | voted


class _Told:
    """Operations in any order, told in that of time."""

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._logs: list[list[int]] = [[] for _ in range(PARTITIONS)]

    def history(self) -> History:
        ordered = sorted(self._operations, key=lambda operation: operation.time_ns)
        return History("bench", "", tuple(msgspec.structs.replace(o, index=i) for i, o in enumerate(ordered)))

    def _add(  # noqa: PLR0917 - the fields of an operation, in their order
        self,
        at_ns: int,
        process: int | str,
        kind: str,
        f: str,
        key: Any,
        value: Any,
        node: str | None = None,
    ) -> None:
        self._operations.append(Operation(0, at_ns, process, OperationType(kind), f, key, value, None, node))

    def runner(self) -> None:
        self._add(0, "runner", "ok", "setup", None, _SETUP)
        for name, at_s in (
            ("load", 1),
            ("heal", LOAD_S),
            ("recover", LOAD_S + 1),
            ("final-read", LOAD_S + 10),
            ("done", LOAD_S + 20),
        ):
            self._add(at_s * S, "runner", "ok", "phase", name, None)
        bound = {"bound_ms": 60_000}
        state = {"leader": 1, "isr": [1, 2, 3], "replicas": [1, 2, 3], "write_acked": True}
        partitions = [{"topic": TOPIC, "partition": number, **state} for number in range(PARTITIONS)]
        self._add((LOAD_S + 1) * S + 1, "runner", "invoke", "recover", None, bound)
        self._add(
            (LOAD_S + 2) * S,
            "runner",
            "ok",
            "recover",
            None,
            bound | {"took_ms": 900, "partitions": partitions},
        )

    def faults(self) -> None:
        for name, kind, at_s in FAULTS:
            plan = {"kind": kind, "spec": {"kind": kind}}
            done = plan | {
                "targets": [TARGET],
                "cut": [[TARGET, "n1"], ["n1", TARGET]] if kind == "partition" else [],
                "probe": {},
            }
            for f, begins_s in (("inject", at_s), ("heal", at_s + HELD_S)):
                self._add(begins_s * S, "nemesis", "invoke", f, name, plan)
                self._add(begins_s * S + S // 5, "nemesis", "ok", f, name, done)

    def observations(self) -> None:
        """Once a second what each node says of partitions and the quorum; and when a node comes and goes."""
        states = [[p, 1, 0, [1, 2, 3], [1, 2, 3], []] for p in range(PARTITIONS)]
        for number, node in enumerate(NODES, start=1):
            self._observe(S // 2, "node", node, {"status": "running", "exit_code": 0, "oom": False})
            for at_s in range(1, LOAD_S + 10):
                began = {"began_ns": at_s * S + number - 1}
                at_ns = at_s * S + number
                self._observe(at_ns, "partitions", node, began | {"topics": {TOPIC: states}})
                self._observe(at_ns, "quorum", node, began | _answer(number, at_s))
                self._observe(at_ns, "quorum-state", node, began | _state(number))
        killed_s = next(at_s for _, kind, at_s in FAULTS if kind == "kill")
        told = (("exited", 137, killed_s), ("running", 0, killed_s + HELD_S))
        for status, code, at_s in told:
            at_ns = at_s * S + S // 10
            self._observe(at_ns, "node", TARGET, {"status": status, "exit_code": code, "oom": False})

    def _observe(self, at_ns: int, key: str, node: str, value: dict[str, Any]) -> None:
        self._add(at_ns, f"observer-{key}-{node}", "ok", "observe", key, value, node)

    def load(self, batches: int) -> None:
        """Each producer's batches, polls of what is there by then, and a final read of everything."""
        step_ns = (LOAD_S + 5) * S // batches
        positions = [[0] * PARTITIONS for _ in CONSUMERS]
        for number in range(batches):
            at_ns = 2 * S + number * step_ns
            for producer in range(PRODUCERS):
                self._send(at_ns, step_ns, producer, number)
            if number % (POLL // BATCH) == 0 or number == batches - 1:
                for consumer, position in enumerate(positions):
                    self._poll(at_ns, step_ns, consumer, position)
        for slot, (client, isolation) in enumerate(READERS):
            self._read_all((LOAD_S + 11) * S, f"{20 + slot}", client, isolation)

    def _send(self, at_ns: int, step_ns: int, producer: int, number: int) -> None:
        values = [producer * 10**9 + number * BATCH + i + 1 for i in range(BATCH)]
        sent = [[value % PARTITIONS, value] for value in values]
        answered = []
        for partition, value in sent:
            self._logs[partition].append(value)
            answered.append([partition, value, len(self._logs[partition]) - 1, "ok"])
        self._add(at_ns + producer, producer, "invoke", "send", TOPIC, sent)
        self._add(at_ns + step_ns // 4 + producer, producer, "ok", "send", TOPIC, answered)

    def _poll(self, at_ns: int, step_ns: int, consumer: int, position: list[int]) -> None:
        client, isolation = CONSUMERS[consumer]
        asked = {"client": client, "isolation": isolation}
        records = []
        for partition, log in enumerate(self._logs):
            first, position[partition] = position[partition], len(log)
            if first < len(log):
                records.append([partition, list(range(first, len(log))), log[first:]])
        self._add(at_ns + step_ns // 2, 10 + consumer, "invoke", "poll", TOPIC, asked)
        self._add(
            at_ns + step_ns // 2 + S // 1000, 10 + consumer, "ok", "poll", TOPIC, asked | {"records": records}
        )

    def _read_all(self, at_ns: int, process: str, client: str, isolation: str) -> None:
        for partition, log in enumerate(self._logs):
            asked = {"client": client, "isolation": isolation, "partition": partition}
            limits = {"start": 0, "end": len(log), "position": len(log)}
            records = [[partition, list(range(len(log))), log]]
            began_ns = at_ns + partition * S // 100
            self._add(began_ns, process, "invoke", "final-read", TOPIC, asked)
            self._add(
                began_ns + S // 200, process, "ok", "final-read", TOPIC, asked | limits | {"records": records}
            )
