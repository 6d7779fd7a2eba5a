"""Reassignments are recorded as they change, and again while they go on; a silent broker is passed over."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.kafka.answers import Ongoing
from harness.observers import ClusterView, Observers, observers
from harness.observers import reassignments as module
from harness.record.journal import Clock, Journals
from harness.vocabulary import Node, Topology
from tests.harness.fakes.moving import LIST, FakeMoving
from tests.harness.recorded import recorded
from tests.harness.snapshots import seen
from tests.harness.waiting import BOUND_S, wait_until


class Bench:
    """A cluster of two brokers, of which the first is asked first."""

    nodes = Topology(brokers=2, controllers=2).nodes()
    controller_listeners: dict[str, tuple[str, int]] = {}  # noqa: RUF012 - never changed

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.first, self.second = (stack.enter_context(FakeMoving()) for _ in range(2))
        self.observe_listeners = {"n1": self.first.address, "n2": self.second.address}
        journals = Journals(folder, "run", Clock())
        stack.callback(journals.close)
        self.observers = Observers(self, ("log-0",), journals, interval_ms=5, reassignments=True)

    def disk(self, node: Node) -> Path:
        return self.folder / node.name

    def disks(self, node: Node) -> tuple[Path, ...]:
        return (self.disk(node),)

    def recorded_values(self) -> list[dict[str, Any]]:
        return [operation.value for operation in recorded(self.folder, "observer-reassignments")]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """However slow the machine: no answer is late, no sight is old, and nothing is recorded again."""
    monkeypatch.setattr(observers, "STOP_BOUND_S", BOUND_S)
    monkeypatch.setattr(observers, "ClusterView", lambda: ClusterView(fresh_s=BOUND_S))
    monkeypatch.setattr(module, "REPEAT_S", BOUND_S)
    with ExitStack() as stack:
        yield Bench(tmp_path, stack)


def test_ongoing_reassignments_are_recorded_when_they_change(bench: Bench) -> None:
    bench.observers.start()
    wait_until(bench.recorded_values)
    bench.first.moving["log-0", 1] = (2, 3)
    wait_until(lambda: len(bench.recorded_values()) == 2)
    assert seen(bench.observers.view).ongoing == (Ongoing("log-0", 1, (2, 3, 1), (3,), (1,)),)
    bench.first.arrive()
    wait_until(lambda: len(bench.recorded_values()) == 3)
    bench.observers.stop()
    assert [value.pop("began_ns") > 0 for value in bench.recorded_values()] == [True] * 3
    ongoing = [value["ongoing"] for value in bench.recorded_values()]
    assert ongoing == [[], [["log-0", 1, [2, 3, 1], [3], [1]]], []]
    assert {value["node"] for value in bench.recorded_values()} == {"n1"}
    assert bench.first.connections == 2  # one of the observer of partitions


def test_what_goes_on_is_repeated_and_what_does_not_is_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REPEAT_S", 0.02)
    bench.observers.start()
    wait_until(lambda: len(bench.first.listed) > 20)
    assert len(bench.recorded_values()) == 1
    bench.first.moving["log-0", 1] = (2, 3)
    wait_until(lambda: len(bench.recorded_values()) > 4)
    bench.observers.stop()


def test_a_broker_that_does_not_report_is_passed_over(bench: Bench) -> None:
    bench.second.moving["log-0", 0] = (2,)
    bench.observers.start()
    wait_until(bench.recorded_values)
    bench.first.errors[LIST] = 41
    wait_until(lambda: bench.recorded_values()[-1]["node"] == "n2")
    bench.second.moving.clear()
    bench.second.errors[LIST], bench.first.errors[LIST] = 41, 0
    wait_until(lambda: bench.recorded_values()[-1]["node"] == "n1")
    bench.observers.stop()
    assert [bool(value["ongoing"]) for value in bench.recorded_values() if value["node"] == "n1"] == [
        False,
        False,
    ]


def test_old_news_of_reassignments_do_not_count() -> None:
    now = [0.0]
    view = ClusterView(clock=lambda: now[0])
    assert seen(view).ongoing is None
    view.saw_reassignments(())
    assert seen(view).ongoing == ()
    now[0] = 9.0
    assert seen(view).ongoing is None
