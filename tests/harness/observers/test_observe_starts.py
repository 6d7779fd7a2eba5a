"""Every broker is asked where its logs begin as soon as a deletion was acknowledged."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.observers import Observers, observers
from harness.observers.starts import places_of
from harness.record.journal import Clock, Journals
from harness.vocabulary import Node, Topology
from harness.workloads.deletions import DeletionListeners
from tests.harness.fakes.node import (
    ELR,
    LIST,
    METADATA,
    QUORUM,
    FakeNode,
    elr_answer,
    listed,
    metadata_answer,
    quorum_answer,
)
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

_ANY_REPLICA, _EARLIEST, _UNKNOWN = -2, -2, 3


class Bench:
    """Two brokers, all of whose observers look; the first one answers about starts."""

    def __init__(self, folder: Path, stack: ExitStack, *, deleting: bool = True) -> None:
        self.folder = folder
        self.nodes = Topology(brokers=2, controllers=2).nodes()
        self.fakes = {node.name: stack.enter_context(FakeNode()) for node in self.nodes}
        self.asked: list[tuple[int, int]] = []
        self.refusing = False
        for fake in self.fakes.values():
            fake.answers[QUORUM] = lambda _request: quorum_answer(0, 0, 0, {}, error=6)
            fake.answers[METADATA] = lambda _request: metadata_answer([8, 9], [(8, 0), (9, 0)])
            fake.answers[ELR] = lambda _request: elr_answer({})
        self.fakes["n1"].answers[LIST] = self._listed
        self.controller_listeners = {name: fake.address for name, fake in self.fakes.items()}
        self.observe_listeners = self.controller_listeners
        self.journals = Journals(folder, "run", Clock())
        stack.callback(self.journals.close)
        self.deletions = DeletionListeners()
        listened = self.deletions if deleting else None
        self.observers = Observers(self, ("log-0",), self.journals, interval_ms=50, deletions=listened)

    def disk(self, node: Node) -> Path:
        return self.folder / "disks" / node.name

    def disks(self, node: Node) -> tuple[Path, ...]:
        return (self.disk(node),)

    def _listed(self, request: Any) -> Any:
        rows = [one for each in request.topics for one in each.partitions]
        self.asked += [(request.replica_id, one.timestamp) for one in rows]
        return listed(request, lambda _topic, number: (_UNKNOWN, -1) if number == 1 else (0, 100 + number))

    def recorded_operations(self, node: str = "n1") -> list[Any]:
        return recorded(self.folder, f"observer-starts-{node}")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(observers, "STOP_BOUND_S", BOUND_S)
    with ExitStack() as stack:
        made = Bench(tmp_path, stack)
        made.observers.start()
        stack.callback(made.observers.stop)
        yield made


def test_any_replica_is_asked_where_its_log_begins(bench: Bench) -> None:
    before_ns = bench.journals.clock.now_ns()
    bench.deletions.acknowledged("log-0", 0)
    wait_until(bench.recorded_operations)
    bench.deletions.acknowledged("log-0", 1)
    wait_until(lambda: len(bench.recorded_operations()) == 2)
    assert [one.value["topics"] for one in bench.recorded_operations()] == [
        {"log-0": [[0, 0, 100]]},
        {"log-0": [[1, _UNKNOWN, -1]]},
    ]
    assert {(one.key, one.node) for one in bench.recorded_operations()} == {("starts", "n1")}
    assert (
        before_ns
        <= bench.recorded_operations()[0].value["began_ns"]
        <= bench.recorded_operations()[0].time_ns
    )
    assert bench.asked == [(_ANY_REPLICA, _EARLIEST)] * 2


def test_a_broker_without_an_answer_records_nothing_and_delays_no_other(bench: Bench) -> None:
    bench.fakes["n2"].close()
    bench.deletions.acknowledged("log-0", 0)
    wait_until(bench.recorded_operations)
    assert bench.recorded_operations("n2") == []


def test_without_deletions_no_broker_is_asked(tmp_path: Path) -> None:
    with ExitStack() as stack:
        Bench(tmp_path, stack, deleting=False)
        assert list(tmp_path.glob("history-observer-starts-*")) == []


def test_each_partition_is_asked_for_once() -> None:
    assert places_of([("a", 1), ("b", 0), ("a", 1), ("a", 2)]) == {"a": [1, 2], "b": [0]}
