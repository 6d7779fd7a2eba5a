"""Observers record what nodes believe, say less when nothing changes, and never hide their own death."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from checkers.history.observed import PartitionAnswer
from harness.kafka.answers import QuorumAnswer, TopicAnswer
from harness.observers import ClusterView, Observers
from harness.observers import observers as module
from harness.observers.observer import Observer
from harness.observers.quorum_state import QUORUM_STATE, QuorumStateObserver, read_quorum_state
from harness.record.journal import Clock, Journals
from harness.vocabulary import Node, Topology
from harness.workloads.worker import WorkloadError
from tests.harness.fakes.node import (
    ELR,
    METADATA,
    QUORUM,
    VERSIONS,
    FakeNode,
    elr_answer,
    metadata_answer,
    quorum_answer,
)
from tests.harness.recorded import recorded
from tests.harness.snapshots import seen
from tests.harness.waiting import BOUND_S, wait_until

V1 = '{"leaderId":2,"leaderEpoch":7,"votedId":2,"votedDirectoryId":"%s","data_version":1}'
V0 = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1}],"data_version":0}'
)
DIRECTORY = "792eyRB-iWnN5hXolHjMEQ"


class Bench:
    """Two fake nodes with disks, observed."""

    def __init__(self, folder: Path, stack: ExitStack, *, features: bool = False) -> None:
        self.folder = folder
        self.nodes = Topology(brokers=2, controllers=2).nodes()
        self.fakes = {node.name: stack.enter_context(FakeNode()) for node in self.nodes}
        for fake in self.fakes.values():
            fake.answers[QUORUM] = lambda _request: quorum_answer(0, 0, 0, {}, error=6)
            fake.answers[METADATA] = lambda _request: metadata_answer([1, 2], [(1, 0), (2, 0)])
            fake.answers[ELR] = lambda _request: elr_answer({0: [], 1: []})
        self.journals = Journals(folder, "run", Clock())
        stack.callback(self.journals.close)
        self.observers = Observers(self, ("log-0",), self.journals, interval_ms=10, features=features)

    @property
    def controller_listeners(self) -> dict[str, tuple[str, int]]:
        return {name: fake.address for name, fake in self.fakes.items()}

    @property
    def observe_listeners(self) -> dict[str, tuple[str, int]]:
        return self.controller_listeners

    def disk(self, node: Node) -> Path:
        return self.folder / "disks" / node.name

    def disks(self, node: Node) -> tuple[Path, ...]:
        return (self.disk(node),)

    def recorded_values(self, key: str, node: str) -> list[dict[str, Any]]:
        found = recorded(self.folder, "observer-*")
        return [one.value for one in found if one.key == key and one.node == node]

    def run_until(self, enough: Callable[[], object]) -> None:
        self.observers.start()
        wait_until(enough)
        self.observers.check()
        self.observers.stop()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """However slow the machine: no answer is late, no sight is old, and nothing is recorded again."""
    monkeypatch.setattr(module, "STOP_BOUND_S", BOUND_S)
    monkeypatch.setattr(module, "ClusterView", lambda: ClusterView(fresh_s=BOUND_S))
    monkeypatch.setattr(Observer.record_changes, "__defaults__", (None,))
    with ExitStack() as stack:
        yield Bench(tmp_path, stack)


def write_files(
    folder: Path, quorum_state: str, meta: str = f"version=1\ncluster.id=c\ndirectory.id={DIRECTORY}\n"
) -> None:
    (folder / QUORUM_STATE).parent.mkdir(parents=True, exist_ok=True)
    (folder / QUORUM_STATE).write_text(quorum_state)
    (folder / "meta.properties").write_text(meta)


def test_every_answer_of_a_leading_controller_is_recorded(bench: Bench) -> None:
    bench.fakes["n1"].answers[QUORUM] = lambda _request: quorum_answer(1, 4, 30, {1: 30, 2: 29})
    bench.run_until(lambda: len(bench.recorded_values("quorum", "n1")) >= 3)
    value = bench.recorded_values("quorum", "n1")[0]
    assert value.pop("wall_ms") > 1_700_000_000_000
    assert value.pop("began_ns") > 0
    assert value == {
        "answer": "leader",
        "leader_id": 1,
        "leader_epoch": 4,
        "high_watermark": 30,
        "voters": [[1, None, 30, 5, 6], [2, None, 29, 5, 6]],
        "observers": [],
    }
    assert seen(bench.observers.view).active_controller == 1


def test_that_a_controller_does_not_lead_is_recorded_now_and_then(bench: Bench) -> None:
    bench.run_until(lambda: len(bench.fakes["n2"].asked) > 20)
    answers = bench.recorded_values("quorum", "n2")
    assert [{**value, "began_ns": 0} for value in answers] == [{"answer": "not-leader", "began_ns": 0}]
    assert seen(bench.observers.view).active_controller is None


def test_silence_is_recorded_when_it_begins(bench: Bench) -> None:
    bench.fakes["n1"].answers[QUORUM] = lambda _request: b"\xff\xff\xff\xff"
    bench.run_until(lambda: bench.fakes["n1"].connections > 5)
    assert [value["answer"] for value in bench.recorded_values("quorum", "n1")] == ["error"]


def test_partitions_are_recorded_on_change(bench: Bench) -> None:
    leaders = [(1, 0), (2, 0)]
    for fake in bench.fakes.values():
        fake.answers[METADATA] = lambda _request: metadata_answer([1, 2], leaders)
    bench.observers.start()
    wait_until(lambda: all(len(bench.recorded_values("partitions", node)) == 1 for node in bench.fakes))
    leaders[1] = (-1, 1)
    wait_until(lambda: all(len(bench.recorded_values("partitions", node)) == 2 for node in bench.fakes))
    bench.observers.stop()
    first, then = bench.recorded_values("partitions", "n1")
    assert first["topics"] == {"log-0": [[0, 1, 0, [1, 2], [1, 2], []], [1, 2, 0, [1, 2], [1, 2], []]]}
    assert then["topics"]["log-0"][1][:3] == [1, -1, 1]
    snapshot = seen(bench.observers.view, "log-0")
    assert {place: state.leader for place, state in snapshot.partitions.items()} == {
        ("log-0", 0): 1,
        ("log-0", 1): -1,
    }
    assert snapshot.leaders == (1,)


def test_a_broker_that_is_down_has_no_view(bench: Bench) -> None:
    bench.fakes["n1"].answers[METADATA] = lambda _request: b"\xff\xff\xff\xff"
    bench.run_until(lambda: bench.recorded_values("partitions", "n2"))
    assert bench.recorded_values("partitions", "n1") == []


def test_what_does_not_change_is_repeated(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Observer.record_changes, "__defaults__", (0.05,))
    bench.run_until(lambda: len(bench.recorded_values("partitions", "n1")) >= 3)


def test_promises_on_disk_are_recorded_as_they_change(bench: Bench) -> None:
    n1, n2 = (bench.disk(node) for node in bench.nodes)
    write_files(n1, V1 % "AAAAAAAAAAAAAAAAAAAAAA")
    write_files(n2, V0, "version=0\nbroker.id=2\n")
    bench.observers.start()
    wait_until(
        lambda: bench.recorded_values("quorum-state", "n1") and bench.recorded_values("quorum-state", "n2")
    )
    write_files(n1, V1 % DIRECTORY)
    wait_until(lambda: bench.recorded_values("quorum-state", "n1")[-1]["voted_directory_id"] == DIRECTORY)
    bench.observers.stop()
    first = bench.recorded_values("quorum-state", "n1")[0]
    assert {**first, "began_ns": 0} == {
        "began_ns": 0,
        "directory_id": DIRECTORY,
        "cluster_id": "c",
        "leader_id": 2,
        "leader_epoch": 7,
        "voted_id": 2,
        "voted_directory_id": None,
    }
    assert bench.recorded_values("quorum-state", "n2")[0]["directory_id"] is None
    assert bench.recorded_values("quorum-state", "n2")[0]["cluster_id"] is None
    assert bench.recorded_values("quorum-state", "n2")[0]["leader_epoch"] == 3


@pytest.mark.parametrize("half", ["", '{"leaderId":2,', "[]"])
def test_half_a_file_is_read_again_later(tmp_path: Path, half: str) -> None:
    write_files(tmp_path, half)
    assert read_quorum_state(tmp_path, 0) is None


def test_a_node_without_files_has_promised_nothing(tmp_path: Path) -> None:
    assert read_quorum_state(tmp_path / "never", 0) is None


def test_a_disk_without_power_is_read_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(path: Path) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    write_files(tmp_path, V1 % DIRECTORY)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", dead)
        assert read_quorum_state(tmp_path, 0) is None
    assert read_quorum_state(tmp_path, 0) is not None


def test_a_file_that_may_not_be_read_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / QUORUM_STATE).mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        read_quorum_state(tmp_path, 0)


def test_an_observer_that_dies_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "n1" / QUORUM_STATE).mkdir(parents=True)
    journals = Journals(tmp_path, "run", Clock())
    observer = QuorumStateObserver(journals, {"n1": tmp_path / "n1"}, 0.01)
    observer.start()
    observer.join(BOUND_S)
    journals.close()
    assert isinstance(observer.failure, IsADirectoryError)


def test_a_dead_observer_fails_the_check_and_the_stop(bench: Bench) -> None:
    (bench.disk(bench.nodes[0]) / QUORUM_STATE).mkdir(parents=True)
    bench.observers.start()
    with pytest.raises(WorkloadError, match="observer-quorum-state died"):
        wait_until(bench.observers.check)
    with pytest.raises(WorkloadError, match="observer-quorum-state died"):
        bench.observers.stop()


def test_observers_stop_beside_silent_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_BOUND_S", BOUND_S)
    with ExitStack() as stack:
        bench = Bench(tmp_path, stack)
        for fake in bench.fakes.values():
            fake.answers[QUORUM] = fake.answers[METADATA] = lambda _request: None
        bench.observers.start()
        wait_until(lambda: all(len(fake.asked) >= 4 for fake in bench.fakes.values()))
        bench.observers.stop()
        assert [observer.is_alive() for observer in bench.observers._observers] == [False] * 5


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def topic(*partitions: tuple[int, int, int]) -> dict[str, TopicAnswer]:
    states = tuple(PartitionAnswer(p, leader, epoch, (1, 2), (1, 2), None) for p, leader, epoch in partitions)
    return {"t": TopicAnswer("t", "id", 0, states)}


def leading(leader: int, epoch: int) -> QuorumAnswer:
    return QuorumAnswer(0, leader, epoch, 0, (), ())


def test_of_two_leaders_the_newer_epoch_counts() -> None:
    view = ClusterView()
    view.saw_controller("c1", leading(101, 4))
    view.saw_controller("c2", leading(102, 5))
    assert seen(view).active_controller == 102
    view.saw_controller("c2", None)
    assert seen(view).active_controller == 101


def test_what_was_seen_long_ago_does_not_count() -> None:
    now = Time()
    view = ClusterView(fresh_s=3.0, clock=now)
    view.saw_controller("c1", leading(101, 4))
    view.saw_topics("b1", topic((0, 1, 0)))
    now.now = 3.0
    assert (seen(view).active_controller, seen(view, "t").leaders) == (101, (1,))
    now.now = 3.1
    assert (seen(view).active_controller, seen(view, "t").leaders) == (None, ())


def test_of_two_brokers_the_one_with_the_newer_leader_epoch_is_believed() -> None:
    now = Time()
    view = ClusterView(clock=now)
    view.saw_topics("b1", topic((0, 2, 9), (1, 1, 3)))
    now.now = 1.0
    view.saw_topics("b2", topic((0, 1, 8), (1, -1, 3)))
    snapshot = seen(view, "t", "unknown")
    assert {place: state.leader for place, state in snapshot.partitions.items()} == {
        ("t", 0): 2,
        ("t", 1): -1,
    }
    assert snapshot.leaders == (2,)
    assert snapshot.partition(("t", 5)) is None


def test_of_two_brokers_with_the_same_leader_epoch_the_one_who_reported_last_is_believed() -> None:
    now = Time()
    view = ClusterView(clock=now)
    for leader, node in ((1, "b1"), (2, "b2"), (3, "b1")):
        now.now += 1.0
        view.saw_topics(node, topic((0, leader, 9)))
        assert seen(view, "t").leaders == (leader,)


def test_who_reads_disks_is_there_where_it_is_asked_for(bench: Bench) -> None:
    folder = bench.folder / "more"
    folder.mkdir()
    journals = Journals(folder, "run", Clock())
    Observers(bench, ("log-0",), journals, ends=("__consumer_offsets",), commits=True)
    journals.close()
    names = {path.name for path in folder.iterdir()}
    assert {"history-observer-ends.jsonl", "history-observer-commits.jsonl"} <= names
    assert not [*bench.folder.glob("history-observer-commits*")]


def test_feature_levels_are_recorded_as_each_node_reports_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEATURES_INTERVAL_S", 0.01)
    with ExitStack() as stack:
        bench = Bench(tmp_path, stack, features=True)
        bench.fakes["n1"].features = {"transaction.version": 2}
        bench.fakes["n1"].newest_features = {"transaction.version": 2}
        bench.fakes["n2"].answers[VERSIONS] = lambda _request: None
        bench.observers.start()
        wait_until(lambda: bench.recorded_values("features", "n1"))
        bench.fakes["n1"].features = {"transaction.version": 1}
        wait_until(lambda: len(bench.recorded_values("features", "n1")) > 1)
        bench.observers.stop()
    first, *_, last = bench.recorded_values("features", "n1")
    assert first.pop("began_ns") < last.pop("began_ns")
    supported = {"transaction.version": [1, 2]}
    assert first == {"epoch": 1, "levels": {"transaction.version": 2}, "supported": supported}
    assert last == {"epoch": 1, "levels": {"transaction.version": 1}, "supported": supported}
    assert bench.recorded_values("features", "n2") == []
