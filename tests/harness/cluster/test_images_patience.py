"""A pull or a build of which there is no news ends in an error; a slow one does not."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.images import building, patience
from harness.cluster.images.model import silent
from harness.cluster.images.patience import SilenceError, until_silent
from harness.cluster.images.registry import RegistryProvider
from harness.errors import EngineError
from tests.harness.fakes.engine import FakeEngine


class Time:
    """A clock that goes on with each event that is read."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self._step_s = 0.0, step_s

    def __call__(self) -> float:
        return self.now_s

    def passing(
        self, events: Iterator[dict[str, Any]], read: threading.Semaphore
    ) -> Iterator[dict[str, Any]]:
        for event in events:
            read.acquire()
            self.now_s += self._step_s
            yield event


def downloads(*bytes_read: int) -> Iterator[dict[str, Any]]:
    for current in bytes_read:
        yield {"id": "a", "status": "Downloading", "progressDetail": {"current": current}}


def followed(events: Iterator[dict[str, Any]], step_s: float, heard: list[float]) -> int:
    """How many events were passed on, one after the other, with 10 s as the limit."""
    clock, read, passed = Time(step_s), threading.Semaphore(1), 0
    ask = lambda: clock.passing(events, read)  # noqa: E731 - it is passed on
    for _ in until_silent(ask, lambda: heard.append(clock.now_s), 10.0, clock):
        passed += 1
        read.release()
    return passed


def test_each_byte_more_of_a_large_layer_is_news() -> None:
    heard: list[float] = []
    assert followed(downloads(*range(1, 30)), 9.0, heard) == 29
    assert heard == [9.0 * number for number in range(1, 30)]


def test_repeating_the_same_is_no_news() -> None:
    heard: list[float] = []
    with pytest.raises(SilenceError, match="no progress for 10 s"):
        followed(downloads(*[7] * 30), 4.0, heard)
    assert heard == [4.0]


def test_lines_of_a_build_are_news_even_if_they_are_alike() -> None:
    assert followed(iter([{"stream": "."}] * 30), 9.0, []) == 30


def test_what_reading_raises_is_raised() -> None:
    def ask() -> Iterator[dict[str, Any]]:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(until_silent(ask))


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """What a silent engine waits for; it is let go at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def test_a_registry_that_is_silent_for_good_ends_the_pull(
    never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "SILENCE_MAX_S", 0.05)
    engine = FakeEngine()

    def pull(_name: str, **_given: object) -> Iterator[dict[str, Any]]:
        never.wait()
        yield {}

    engine._pull = pull  # type: ignore[method-assign, assignment]
    with pytest.raises(EngineError, match="was not pulled in time") as caught:
        RegistryProvider(engine.client).obtain("4.3.1", silent)
    assert caught.value.got == "no progress for 0.05 s"
    assert caught.value.where == "apache/kafka:4.3.1"
    assert "docker pull apache/kafka:4.3.1" in caught.value.next_step


def test_a_build_that_is_silent_for_good_ends_with_its_last_lines(
    never: threading.Event, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(patience, "SILENCE_MAX_S", 0.05)
    engine = FakeEngine()

    def build(**_given: object) -> Iterator[dict[str, Any]]:
        yield {"stream": "Step 1/2 : RUN apt-get update\n"}
        never.wait()

    engine._build = build  # type: ignore[method-assign, assignment]
    with pytest.raises(EngineError, match="was not built in time") as caught:
        building.build(engine.client, tmp_path, arguments={}, network="none", progress=silent)
    assert caught.value.got == "Step 1/2 : RUN apt-get update\nno progress for 0.05 s"
    assert caught.value.next_step
