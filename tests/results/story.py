"""Synthetic runs that look like real ones: a cut, a kill and a pause, with observers watching."""

import random
from typing import Any

import msgspec

from checkers.history.identity import HostIdentity, ImageIdentity, RunIdentity
from checkers.history.operations import History, Operation, OperationType
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, Validity, Verdict, result_of

S = 1_000_000_000
MS = 1_000_000
FAULTS = (
    ("f1", "partition", "n1", 6 * S, 12 * S),
    ("f2", "kill", "n2", 18 * S, 24 * S),
    ("f3", "pause", "n3", 30 * S, 36 * S),
)
LOAD_END = 42 * S


class Run(msgspec.Struct):
    """Everything a report is made from."""

    history: History
    verdict: Verdict
    identity: RunIdentity | None


class Story:
    """Collects operations in any order and sorts them by time."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.operations: list[Operation] = []

    def add(  # noqa: PLR0917 - the fields of an operation, in their order
        self,
        time_ns: int,
        process: int | str,
        kind: str,
        f: str,
        key: Any = None,
        value: Any = None,
        *,
        error: str | None = None,
        node: str | None = None,
    ) -> None:
        operation = Operation(0, time_ns, process, OperationType(kind), f, key, value, error, node)
        self.operations.append(operation)

    def history(self) -> History:
        self.operations.sort(key=lambda o: o.time_ns)
        numbered = (msgspec.structs.replace(o, index=i) for i, o in enumerate(self.operations))
        return History(run="9f2c61d0", began_at="2026-11-20T21:56:57Z", operations=tuple(numbered))

    def setup(self) -> None:
        nodes = [{"name": f"n{i}", "id": i, "roles": ["broker", "controller"]} for i in (1, 2, 3)]
        self.add(1, "runner", "ok", "setup", value={
            "kafka_version": "4.3.1", "scenario": "smoke/partition", "seed": 7, "nodes": nodes,
            "mode": "combined", "quorum": "dynamic", "features": {"kraft.version": 1},
            "topics": [{"name": "log-0", "partitions": 6, "replication_factor": 3}],
        })  # fmt: skip
        for phase, time_ns in (("load", 1 * S), ("heal", LOAD_END), ("recover", LOAD_END + S)):
            self.add(time_ns, "runner", "ok", "phase", phase)
        for phase, time_ns in (("final-read", 46 * S), ("evidence", 49 * S), ("done", 50 * S)):
            self.add(time_ns, "runner", "ok", "phase", phase)

    def faults(self, *, heal_last: bool = True) -> None:
        for number, (name, kind, node, begin, end) in enumerate(FAULTS):
            plan = {"kind": kind, "spec": {"kind": kind, "target": "active-controller"}}
            done = plan | {
                "targets": [node],
                "cut": [["n1", "n2"], ["n1", "n3"]] if kind == "partition" else [],
                "probe": {},
            }
            self.add(begin, "nemesis", "invoke", "inject", name, plan)
            self.add(begin + 300 * MS, "nemesis", "ok", "inject", name, done)
            if heal_last or number < len(FAULTS) - 1:
                self.add(end, "nemesis", "invoke", "heal", name, plan)
                self.add(end + 400 * MS, "nemesis", "ok", "heal", name, done)
            status = {"kill": "exited", "pause": "paused"}.get(kind)
            if status:
                self.add(
                    begin + 200 * MS,
                    f"observer-{node}",
                    "ok",
                    "observe",
                    "node",
                    {"status": status},
                    node=node,
                )
                self.add(
                    end + 300 * MS,
                    f"observer-{node}",
                    "ok",
                    "observe",
                    "node",
                    {"status": "running"},
                    node=node,
                )
        for node in ("n1", "n2", "n3"):
            self.add(2, f"observer-{node}", "ok", "observe", "node", {"status": "running"}, node=node)

    def load(self, workers: int = 4, pace_ms: int = 18) -> None:
        sequence = 0
        offsets = dict.fromkeys(range(6), 0)
        for worker in range(workers):
            process, now = worker, 1 * S + worker * 3 * MS
            while now < LOAD_END:
                sequence += 1
                values = [[self.random.randrange(6), worker * 10**9 + sequence * 4 + i] for i in range(4)]
                took, kind = self._fate(now)
                self.add(now, process, "invoke", "send", "log-0", values)
                acks = [[p, v, self._offset(offsets, p) if kind == "ok" else None, kind] for p, v in values]
                error = None if kind == "ok" else "KafkaTimeoutError: 30000 ms passed since batch creation"
                self.add(now + took, process, kind, "send", "log-0", acks, error=error)
                process += workers if kind == "info" else 0
                now += took + int(self.random.expovariate(1 / (pace_ms * MS)))

    def _offset(self, offsets: dict[int, int], partition: int) -> int:
        offsets[partition] += 1
        return offsets[partition]

    def _fate(self, now: int) -> tuple[int, str]:
        took = int(self.random.lognormvariate(1.4, 0.5) * MS)
        for _, kind, _, begin, end in FAULTS:
            if begin <= now < begin + 2_500 * MS and self.random.random() < 0.4:
                longer = int(self.random.uniform(0.4, 3.0) * S)
                return longer, self.random.choices(("ok", "info", "fail"), (6, 3, 1))[0]
            if begin <= now < end:
                took = int(took * (2.2 if kind != "pause" else 3))
        return took, "ok"

    def polls(self) -> None:
        for client, name in enumerate(("kafka-python", "confluent-kafka")):
            for tick in range(1 * S // MS, LOAD_END // MS, 120):
                now = tick * MS + client * 37 * MS
                asked = {"client": name, "isolation": "read_committed"}
                count = self.random.randrange(8, 30)
                slow = any(begin <= now < begin + 2 * S for _, _, _, begin, _ in FAULTS)
                offsets = list(range(0 if slow else count))
                self.add(now, 100 + client, "invoke", "poll", "log-0", asked)
                records = [[0, offsets, [10**9 + o for o in offsets]]] if offsets else []
                self.add(now + 30 * MS, 100 + client, "ok", "poll", "log-0", asked | {"records": records})

    def quorum(self, *, zombie: bool = False) -> None:
        reigns = [("n1", 1, 0, 6 * S), ("n2", 2, 7_800 * MS, 18 * S), ("n3", 3, 19_600 * MS, 30 * S)]
        reigns += [("n1", 4, 32 * S, 50 * S)]
        if zombie:
            reigns[0] = ("n1", 1, 0, 12_200 * MS)
        for node in ("n1", "n2", "n3"):
            for tick in range(200, 50_000, 250):
                now = tick * MS
                epoch = next((e for who, e, begin, end in reigns if who == node and begin <= now < end), None)
                answer = (
                    {"answer": "not-leader"}
                    if epoch is None
                    else {
                        "answer": "leader",
                        "leader_id": int(node[1]),
                        "leader_epoch": epoch,
                        "high_watermark": tick,
                        "wall_ms": tick,
                        "voters": [],
                    }
                )
                self.add(
                    now,
                    f"observer-{node}",
                    "ok",
                    "observe",
                    "quorum",
                    answer | {"began_ns": now - 2 * MS},
                    node=node,
                )

    def partitions(self) -> None:
        for node in ("n1", "n2", "n3"):
            for tick in range(300, 50_000, 500):
                table = [self._view(p, tick * MS) for p in range(6)]
                self.add(
                    tick * MS,
                    f"observer-{node}",
                    "ok",
                    "observe",
                    "partitions",
                    {"began_ns": tick * MS, "topics": {"log-0": table}},
                    node=node,
                )

    def _view(self, partition: int, now: int) -> list[Any]:
        leader, epoch, isr = partition % 3 + 1, 0, [1, 2, 3]
        for number, (_, _, node, begin, end) in enumerate(FAULTS, start=1):
            out = int(node[1])
            if now >= begin + 2 * S and leader == out:
                leader, epoch = out % 3 + 1, number
            if begin + 2 * S <= now < end + 1_500 * MS:
                isr = [i for i in isr if i != out]
            if begin + 1_200 * MS <= now < begin + 2 * S and leader == out:
                return [partition, -1, epoch + 1, [1, 2, 3], isr, []]
        return [partition, leader, epoch, [1, 2, 3], isr, []]

    def ending(self, *, recovered: bool = True) -> None:
        value = {"bound_ms": 60_000, "took_ms": 2_400, "partitions": []}
        self.add(LOAD_END + S, "runner", "invoke", "recover", value={"bound_ms": 60_000})
        self.add(LOAD_END + 3_400 * MS, "runner", "ok" if recovered else "info", "recover", value=value)
        for partition in range(6):
            asked = {"client": "kafka-python", "isolation": "read_committed", "partition": partition}
            read = {
                "start": 0,
                "end": 900,
                "position": 900,
                "records": [[partition, list(range(900)), list(range(900))]],
            }
            self.add(46 * S + partition * 200 * MS, "reader", "invoke", "final-read", "log-0", asked)
            self.add(
                46 * S + partition * 200 * MS + 150 * MS, "reader", "ok", "final-read", "log-0", asked | read
            )
        text = "[ReplicaManager broker=2] Error while writing to checkpoint <file> & shutting down"
        self.add(
            49 * S,
            "observer-n2",
            "ok",
            "observe",
            "node-log",
            {"line": 812, "at": "2026-11-20T21:57:15Z", "level": "ERROR", "text": text},
            node="n2",
        )
        self.add(
            49 * S,
            "observer-n2",
            "ok",
            "observe",
            "node-log",
            {"line": None, "text": "37 more lines"},
            node="n2",
        )


AVAILABILITY_FIGURES = {
    "faults": [
        {"id": name, "kind": kind, "targets": [node], "partition": "log-0/1", "unavailable_ms": gap}
        for (name, kind, node, *_), gap in zip(FAULTS, (1_612.4, 2_271.0, None), strict=True)
    ],
}
IDENTITY = RunIdentity(
    run="9f2c61d0",
    scenario="smoke/partition",
    seed=7,
    kafka_version="4.3.1",
    began_at="2026-11-20T21:56:57Z",
    reproduce="krucible run smoke/partition --kafka-version 4.3.1 --seed 7",
    argv=("krucible", "run", "smoke/partition", "--seed", "7"),
    krucible_commit="6129fa2",
    image=ImageIdentity(
        reference="krucible/kafka:4.3.1",
        source="maven",
        digest="sha256:" + "5c" * 32,
        checksums={"kafka-server-4.3.1.jar": "ab" * 32},
    ),
    features={"kraft.version": 1, "eligible.leader.replicas.version": 1},
    host=HostIdentity(kernel="6.1.0-18-amd64", cpus=2, memory_mib=7_945, engine="Docker 20.10.24"),
    config={"broker.session.timeout.ms": "3000"},
)


def _assumptions() -> tuple[Assumption, ...]:
    return (
        Assumption(
            "acked-before", met=True, expected="at least 100 records before each fault", observed="812"
        ),
        Assumption("fault-held", met=True, expected="at least 5000 ms", observed="5700 ms"),
        Assumption("invoked-during", met=True, expected="at least 20 during each fault", observed="640"),
    )


def _log_result(history: History, *, red: bool) -> CheckerResult:
    sends = [o for o in history.operations if o.f == "send" and o.type is OperationType.OK]
    found = []
    if red:
        for number in (150, 151, 700):
            lost = sends[number]
            partition, value, offset, _ = lost.value[0]
            place = f"log-0/{partition}@{offset}"
            found.append(Anomaly(
                id="lost-write",
                summary=f"value {value} was acknowledged at {place} but is in no final read",
                guarantee="a record acknowledged with acks=all survives as long as one in-sync replica does",
                source="Kafka's documentation, design, replication",
                subject=place,
                time_ns=lost.time_ns,
                witness=(lost.index - 1, lost.index, len(history.operations) - 3),
                explanation=(
                    f"Process {lost.process} was told that offset {offset} is its own.",
                    "The final read of that partition went past this offset and returned another there.",
                    "No event of the history licenses the loss: no unclean election, no replaced disk.",
                ),
            ))  # fmt: skip
        late = sends[300]
        found.append(Anomaly(
            id="offsets-reused",
            summary="offset 77 of log-0/2 held two values, one after the other",
            guarantee="an offset names one record",
            source="KIP-101",
            illegal=False,
            subject="log-0/2@77",
            time_ns=late.time_ns,
            witness=(late.index,),
            explanation=("The first value was never acknowledged.",),
            licence="leader of log-0/2 changed from epoch 0 to 1 at 8.0 s",
        ))  # fmt: skip
    return result_of(
        "log",
        found,
        figures={
            "records_read": 21_600,
            "records_acknowledged": 20_914,
            "elapsed_ms": 41.3,
            "per_partition": {"log-0/0": 3_600},
        },
    )


def _quorum_result(history: History, *, red: bool) -> CheckerResult:
    zombie = Anomaly(
        id="zombie-leader",
        summary="n1 still answered as leader of epoch 1 at 12.0 s, 4.2 s after n2 led epoch 2",
        guarantee="a leader that can't reach a majority resigns within controller.quorum.fetch.timeout.ms",
        source="KIP-595; KAFKA-15489",
        subject="epoch 1",
        time_ns=9 * S,
        witness=tuple(
            o.index
            for o in history.operations
            if o.key == "quorum" and o.node in ("n1", "n2") and 9 * S < o.time_ns < 9_600 * MS
        ),
        explanation=(
            "n1 led epoch 1 until 6.3 s, when it was cut from both other voters.",
            "n2 < n3, because n2 was elected by n3 at 7.8 s.",
        ),
    )
    return result_of(
        "quorum", [zombie] if red else [], figures={"epochs_seen": 4, "leaderless_ms_max": 2_000}
    )


def build(*, red: bool) -> Run:
    story = Story()
    for part in (story.setup, story.faults, story.load, story.polls, story.partitions, story.ending):
        part()
    story.quorum(zombie=red)
    history = story.history()
    results = (
        _log_result(history, red=red),
        _quorum_result(history, red=red),
        result_of("recovery", [], assumptions=_assumptions(), figures={"took_ms": 2_400}),
        result_of("availability", [], figures=AVAILABILITY_FIGURES),
        result_of("nodes", []),
    )
    why = ("3 acknowledged records are missing.", "A controller went on leading.") if red else ()
    verdict = Verdict(
        Validity.INVALID if red else Validity.VALID,
        results,
        expected=Validity.VALID,
        as_expected=not red,
        reasons=why,
    )
    return Run(history, verdict, IDENTITY)


def killed() -> Run:
    """The harness was killed while its first fault was in force, before it wrote its setup."""
    story = Story()
    story.add(5 * S, "nemesis", "invoke", "inject", "f1", {"kind": "kill", "spec": {}})
    story.add(6 * S, 1, "invoke", "send", "log-0", [[0, 1]])
    damage = ("history-runner.jsonl, line 3: cut short after 17 bytes, dropped",)
    history = msgspec.structs.replace(story.history(), damage=damage)
    log = result_of("log", [], unknown_because="the history has no setup")
    unmet = Assumption("fault-held", met=False, expected="at least 5000 ms", observed="not proven")
    results = (log, result_of("recovery", [], assumptions=(unmet,)))
    return Run(history, Verdict(Validity.UNKNOWN, results, reasons=("the history is damaged",)), IDENTITY)


def crowded(operations: int) -> History:
    """A history of about so many operations, with sends, polls and observations in real proportions."""
    story = Story()
    story.setup()
    story.faults()
    story.quorum()
    story.partitions()
    number = 0
    while len(story.operations) < operations:
        now = (1 + number * 40 // (operations // 2)) * S + number % 997 * MS
        values = [[partition, number * 4 + partition] for partition in range(4)]
        story.add(now, number, "invoke", "send", "log-0", values)
        acks = [[p, v, number, "ok"] for p, v in values]
        story.add(now + number % 89 * MS, number, "ok", "send", "log-0", acks)
        number += 1
    return story.history()
