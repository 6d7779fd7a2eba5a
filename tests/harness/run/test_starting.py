"""Starts of a cluster: again where Kafka is the reason, not where the host is; what was seen is kept."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.history.reading import read_history
from checkers.judge import judge
from checkers.verdict.verdict import Validity
from harness.cluster.cluster import Plan
from harness.errors import EngineError, KrucibleError
from harness.record.journal import Clock, Journals, Recorder
from harness.run import starting
from harness.run.diagnosis import NodeReport, diagnose, of_host, sentences
from harness.run.readiness import NotReadyError, Readiness
from harness.run.starting import ClusterNotReadyError, start_ready
from harness.vocabulary.topology import Topology
from tests.harness.recorded import recorded

NOBODY = ("127.0.0.1", 9)
TRUNCATED = (
    "2026-11-22T20:25:46.474Z INFO [kafka-3-raft-io-thread] [RaftManager id=3] "
    "Truncated to offset 0 from Fetch response from leader 1 (org.apache.kafka.raft.KafkaRaftClient)\n"
)
FATAL = "2026-11-22T20:25:47.000Z ERROR Encountered fatal fault: Unexpected error (ProcessTerminating)\n"
READY = Readiness(1.0, 2.0, 3.0, {"kraft.version": 1})


class FakeContainers:
    def __init__(self, log: str, exit_code: int | None, *, out_of_memory: bool) -> None:
        self._log = log
        self._state = {
            "Status": "running" if exit_code is None else "exited",
            "Running": exit_code is None,
            "ExitCode": exit_code or 0,
            "OOMKilled": out_of_memory,
        }

    def state(self) -> dict[str, Any]:
        return self._state

    def logs(self) -> bytes:
        return self._log.encode()


class FakeCluster:
    """Three combined nodes, of which the last one reports what a test sets."""

    def __init__(
        self, folder: Path, log: str = "", exit_code: int | None = None, *, out_of_memory: bool = False
    ) -> None:
        self.folder = folder
        self.nodes = Topology(brokers=3).nodes()
        names = [node.name for node in self.nodes]
        self.containers = {name: FakeContainers("", None, out_of_memory=False) for name in names[:-1]}
        self.containers[names[-1]] = FakeContainers(log, exit_code, out_of_memory=out_of_memory)
        self.controller_listeners = self.observe_listeners = dict.fromkeys(names, NOBODY)
        for name in names:
            (folder / "nodes" / name).mkdir(parents=True)
            (folder / "disks" / name / "__cluster_metadata-0").mkdir(parents=True, exist_ok=True)
            (folder / "disks" / name / "__cluster_metadata-0" / "quorum-state").write_text("{}")
        (folder / "cluster.json").write_text("{}")

    def disk(self, node: Any) -> Path:
        return self.folder / "disks" / str(node.name)

    def home(self, node: Any) -> Any:
        return SimpleNamespace(folder=self.folder / "nodes" / str(node.name))


class Bench:
    """Starts of which each is as a test says; None: it becomes ready."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.journals = Journals(folder, "run", Clock())
        self.recorder = Recorder(self.journals.open("runner"), "runner")
        self.reports: list[str] = []
        self.removed = 0
        self.starts: list[dict[str, Any] | None] = []
        self.cancelled = threading.Event()
        monkeypatch.setattr(starting, "start_cluster", lambda *_: self._started())
        monkeypatch.setattr(starting, "await_ready", lambda _cluster: self._awaited())
        monkeypatch.setattr(starting, "remove_run", lambda *_: self._remove())

    def report(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        del phase, limit_s
        self.reports.append(detail)

    def run(self) -> Any:
        plan = Plan("run", self.folder, Topology(brokers=3), "4.3.1", "kafka", "holder")
        return start_ready(self, None, plan, (), self.cancelled)  # type: ignore[arg-type]  # no engine is asked

    def _started(self) -> FakeCluster:
        return FakeCluster(self.folder, **(self.starts[0] or {}))

    def _awaited(self) -> Readiness:
        if self.starts.pop(0) is None:
            return READY
        error = KrucibleError("the cluster did not become ready within 90 s", got="the nodes' last words")
        raise NotReadyError(error, "not every broker is unfenced", 90.04)

    def _remove(self) -> None:
        self.removed += 1


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(monkeypatch, tmp_path)
    yield made
    made.journals.close()


def starts(bench: Bench) -> list[Any]:
    return [operation.value for operation in recorded(bench.folder, "runner") if operation.f == "start"]


def test_one_start_is_recorded(bench: Bench) -> None:
    bench.starts = [None]
    assert bench.run().ready is READY
    assert [one["ready"] for one in starts(bench)] == [True]
    assert bench.removed == 0
    assert not (bench.folder / "starts").exists()


def test_a_start_that_came_to_nothing_is_kept_and_another_tried(bench: Bench) -> None:
    bench.starts = [{"log": TRUNCATED}, None]
    bench.run()
    first, second = starts(bench)
    assert (first["ready"], second["ready"], bench.removed) == (False, True, 1)
    assert first["took_s"] == 90.0
    assert first["sentences"][0] == "n3 truncated its metadata log to offset 0"
    kept = bench.folder / "starts" / "1"
    assert (kept / "nodes" / "n3" / "server.log").read_text() == TRUNCATED
    assert (kept / "nodes" / "n1" / "quorum-state").exists()
    assert (kept / "cluster.json").exists()
    diagnosis = json.loads((kept / "diagnosis.json").read_text())
    assert diagnosis["nodes"]["n3"]["truncated_to"] == 0
    assert diagnosis["waited_for"] == "not every broker is unfenced"
    assert "trying again" in bench.reports[0]


def test_a_log_that_can_not_be_fetched_costs_a_start_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_: FakeContainers) -> bytes:
        raise EngineError("the engine did not answer")

    monkeypatch.setattr(FakeContainers, "logs", lost)
    bench.starts = [{"log": TRUNCATED}, None]
    bench.run()
    assert [one["ready"] for one in starts(bench)] == [False, True]
    assert "the log of n1 could not be fetched: the engine did not answer" in bench.reports


def test_three_starts_that_came_to_nothing_are_judged(bench: Bench) -> None:
    bench.starts = [{"log": TRUNCATED}] * 3
    with pytest.raises(ClusterNotReadyError) as caught:
        bench.run()
    assert caught.value.folder == bench.folder
    assert sorted(path.name for path in (bench.folder / "starts").iterdir()) == ["1", "2", "3"]
    bench.journals.close()
    verdict = judge(read_history(bench.folder))
    assert verdict.validity is Validity.UNKNOWN
    assert any(reason.startswith("starts: none of 3 starts became ready") for reason in verdict.reasons)


def test_a_node_that_ended_by_itself_is_invalid(bench: Bench) -> None:
    bench.starts = [{"log": FATAL, "exit_code": 1}, None]
    bench.run()
    bench.journals.close()
    result = next(one for one in judge(read_history(bench.folder)).results if one.checker == "starts")
    assert result.validity is Validity.INVALID


def test_who_was_interrupted_starts_no_more(bench: Bench) -> None:
    bench.cancelled.set()
    bench.starts = [{"log": TRUNCATED}, None]
    with pytest.raises(ClusterNotReadyError):
        bench.run()


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ({"log": FATAL, "exit_code": 1, "out_of_memory": True}, "killed by the kernel"),
        (
            {"log": FATAL + "java.net.BindException: Address already in use", "exit_code": 1},
            "a port is taken",
        ),
        ({"log": FATAL + "No space left on device", "exit_code": 1}, "the disk is full"),
        ({"log": "org.apache.kafka.common.config.ConfigException: x", "exit_code": 1}, "is refused"),
        ({"log": FATAL, "exit_code": 137}, "ended from outside"),
        ({"log": "odd", "exit_code": 1}, "before Kafka said why"),
    ],
)
def test_what_the_host_did_makes_the_harness_fail(bench: Bench, start: dict[str, Any], reason: str) -> None:
    bench.starts = [start, None]
    with pytest.raises(NotReadyError) as caught:
        bench.run()
    assert reason in caught.value.got
    assert caught.value.exit_code == 3
    assert starts(bench) == []
    assert (bench.folder / "nodes" / "n3" / "server.log").exists()


def test_nodes_that_go_on_are_not_the_hosts() -> None:
    assert of_host({"n1": NodeReport(status="running")}, {"n1": "OutOfMemoryError"}) is None


def test_a_broker_that_nobody_sees_is_named() -> None:
    nodes = {
        "b1": NodeReport(status="running", brokers=(2,), truncated_to=0),
        "b2": NodeReport(status="running", brokers=(2,)),
        "c3": NodeReport(status="running", quorum="answered 6: it does not lead"),
    }
    assert list(sentences(nodes, {"b1": 1, "b2": 2})) == [
        "b1 truncated its metadata log to offset 0 and was not unfenced",
        "not unfenced according to any node: b1",
        "none of the controllers c3 leads",
    ]


def test_a_quorum_that_leads_does_not_stand_out() -> None:
    nodes = {"c1": NodeReport(status="running", quorum={"leader_id": 1}), "b2": NodeReport(status="running")}
    assert list(sentences(nodes, {"b2": 2})) == []


def test_files_that_can_not_be_read_are_left_out(tmp_path: Path) -> None:
    cluster = FakeCluster(tmp_path)
    state = tmp_path / "disks" / "n1" / "__cluster_metadata-0" / "quorum-state"
    state.unlink()
    state.mkdir()
    error = NotReadyError(KrucibleError("late"), "there is no active controller", 90.0)
    found = diagnose(cluster, error, {})  # type: ignore[arg-type]  # the parts of it that are asked for
    assert found.nodes["n1"].quorum_state is None
    assert found.sentences == ("none of the controllers n1, n2, n3 leads", "there is no active controller")
