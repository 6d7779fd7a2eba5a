"""A broker is asked, as a consumer asks a leader, about all that it has a copy of by its own metadata."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.kafka.endpoint import Endpoint
from harness.observers import ClusterView, partitions
from harness.observers.partitions import PartitionObserver
from harness.record.journal import Clock, Journals
from harness.vocabulary import Node, Topology
from tests.harness.fakes.node import ELR, LIST, METADATA, FakeNode, elr_answer, listed, metadata_answer
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S

_STORAGE, _NOT_LEADER = 56, 6
ANSWERS = {0: (0, 40), 1: (_NOT_LEADER, -1), 2: (_STORAGE, -1)}


class Bench:
    """One observer of one broker, that looks when it is asked to.

    Attributes:
        asked: replica, isolation level, and partition, leader epoch and timestamp of each in every question.
    """

    def __init__(self, folder: Path, stack: ExitStack, node: Node) -> None:
        self.folder = folder
        self.asked: list[tuple[int, int, list[tuple[int, int, int]]]] = []
        self.broker = stack.enter_context(FakeNode())
        self.broker.answers[METADATA] = lambda _request: metadata_answer([1, 2], [(1, 3), (2, 4), (2, 0)])
        self.broker.answers[ELR] = lambda _request: elr_answer({})
        self.broker.answers[LIST] = self._listed
        journals = Journals(folder, "run", Clock())
        stack.callback(journals.close)
        endpoint = Endpoint(*self.broker.address, BOUND_S)
        self.observer = PartitionObserver(journals, node, endpoint, ClusterView(), ("log-0",), interval_s=1.0)
        stack.callback(self.observer.end)

    def _listed(self, request: Any) -> Any:
        (topic,) = request.topics
        rows = [(one.partition_index, one.current_leader_epoch, one.timestamp) for one in topic.partitions]
        self.asked.append((request.replica_id, request.isolation_level, rows))
        return listed(request, lambda _topic, partition: ANSWERS[partition])

    def recorded_answers(self, node: str = "n1") -> list[Any]:
        return [one for one in recorded(self.folder, f"observer-partitions-{node}") if one.key == "leading"]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def node_of(number: int) -> Node:
    (found,) = [node for node in Topology(brokers=3, controllers=3).nodes() if node.id == number]
    return found


def test_each_copy_is_recorded_with_the_leader_of_the_metadata_and_the_answer(
    tmp_path: Path, stack: ExitStack
) -> None:
    bench = Bench(tmp_path, stack, node_of(1))
    bench.observer.look()
    (seen,) = bench.recorded_answers()
    assert seen.node == "n1"
    assert seen.value["topics"] == {"log-0": [[0, 1, 3, 0], [1, 2, 4, _NOT_LEADER], [2, 2, 0, _STORAGE]]}
    assert seen.value["began_ns"] <= seen.value["asked_ns"] <= seen.time_ns
    assert bench.asked == [(-1, 0, [(0, -1, -1), (1, -1, -1), (2, -1, -1)])]


def test_it_is_asked_now_and_then_not_at_every_look(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, stack, node_of(1))
    monkeypatch.setattr(partitions, "LEADING_INTERVAL_S", BOUND_S)
    bench.observer.look()
    bench.observer.look()
    assert len(bench.recorded_answers()) == 1
    monkeypatch.setattr(partitions, "LEADING_INTERVAL_S", 0.0)
    (tmp_path / "again").mkdir()
    again = Bench(tmp_path / "again", stack, node_of(1))
    again.observer.look()
    again.observer.look()
    assert len(again.recorded_answers()) == 2


def test_who_has_no_copy_is_not_asked(tmp_path: Path, stack: ExitStack) -> None:
    bench = Bench(tmp_path, stack, node_of(3))
    bench.observer.look()
    assert (bench.recorded_answers("n3"), bench.asked) == ([], [])


def test_metadata_of_a_broker_that_does_not_answer_then_is_recorded(tmp_path: Path, stack: ExitStack) -> None:
    bench = Bench(tmp_path, stack, node_of(1))
    bench.broker.answers[LIST] = lambda _request: b"\0\0\0\1x"
    bench.observer.look()
    assert [one.key for one in recorded(tmp_path, "observer-partitions-n1")] == ["partitions"]
