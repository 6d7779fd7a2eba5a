"""The watcher of nodes: by the engine's events, without them, and when the engine is gone."""

import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster import watching
from harness.cluster.watching import NodeWatcher
from harness.errors import EngineError
from harness.record.journal import Clock, Journals
from tests.harness.recorded import recorded
from tests.harness.waiting import wait_until

NEVER_S = 3_600.0
RUNNING = {"Status": "running", "ExitCode": 0, "OOMKilled": False, "StartedAt": "2026-11-27T00:00:00Z"}
EXITED = RUNNING | {"Status": "exited", "ExitCode": 137}


class Events:
    """A stream of events that a test adds to; it ends when it is closed."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str | None] = queue.Queue()

    def add(self) -> None:
        self._queue.put("{}")

    def close(self) -> None:
        self._queue.put(None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queue.get, None)


class Bench:
    """A node whose state a test sets, and the watcher of it."""

    def __init__(self, folder: Path, changes: Callable[[], Any]) -> None:
        self.folder = folder
        self.state: dict[str, Any] | EngineError = RUNNING
        self.journals = Journals(folder, "run", Clock())
        self.journals.open("runner")
        cluster: Any = SimpleNamespace(containers={"n1": SimpleNamespace(state=self._state)}, changes=changes)
        self.watcher = NodeWatcher(cluster, self.journals.open("nodes", "observer"))

    def _state(self) -> dict[str, Any]:
        if isinstance(self.state, EngineError):
            raise self.state
        return self.state

    def seen(self) -> list[str]:
        """Each status that was recorded."""
        return [o.value["status"] for o in recorded(self.folder, "nodes")]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[Callable[[], Any]], Bench]]:
    made: list[Bench] = []

    def bench(changes: Callable[[], Any]) -> Bench:
        made.append(Bench(tmp_path, changes))
        return made[-1]

    yield bench
    for each in made:
        each.journals.close()


def test_an_event_leads_to_a_look_and_a_stop_to_the_last_one(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "POLL_S", NEVER_S)
    events = Events()
    bench = make(lambda: events)
    bench.watcher.start()
    wait_until(lambda: bench.seen() == ["running"])
    bench.state = EXITED
    events.add()
    wait_until(lambda: bench.seen() == ["running", "exited"])
    bench.state = RUNNING
    bench.watcher.stop()
    assert bench.seen() == ["running", "exited", "running"]


def test_it_looks_by_itself_where_the_engine_reports_no_events(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "POLL_S", NEVER_S)
    monkeypatch.setattr(watching, "EVENTLESS_POLL_S", 0.01)

    def refused() -> Events:
        raise EngineError("the engine refused")

    bench = make(refused)
    bench.watcher.start()
    wait_until(lambda: bench.seen() == ["running"])
    bench.state = EXITED
    wait_until(lambda: bench.seen() == ["running", "exited"])
    bench.watcher.stop()


def test_it_looks_by_itself_after_the_engine_ended_the_events(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "EVENTLESS_POLL_S", 0.01)
    events = Events()
    events.close()
    bench = make(lambda: events)
    bench.watcher.start()
    wait_until(lambda: bench.seen() == ["running"])
    bench.state = EXITED
    wait_until(lambda: bench.seen() == ["running", "exited"])
    bench.watcher.stop()


def test_an_engine_that_is_gone_is_reported_at_the_end(make: Callable[..., Bench]) -> None:
    events = Events()
    bench = make(lambda: events)
    bench.watcher.start()
    wait_until(lambda: bench.seen() == ["running"])
    bench.state = EngineError("the Docker engine refused, or stopped answering")
    events.add()
    with pytest.raises(EngineError, match="stopped answering"):
        bench.watcher.stop()
