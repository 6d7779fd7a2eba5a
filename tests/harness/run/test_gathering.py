"""Evidence is gathered in its order, and only from brokers that live."""

import threading
from contextlib import nullcontext
from unittest.mock import create_autospec

import pytest

from harness.errors import EngineError
from harness.run import gathering
from harness.run.gathering import gather_evidence
from tests.harness.run.stages import a_stage


def test_brokers_that_ended_by_themselves_are_asked_nothing_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = {}
    for name in ("configs", "coordinators", "producers"):

        def gather(_: object, listeners: dict[str, object], *__: object, what: str = name) -> None:
            asked[what] = set(listeners)

        monkeypatch.setattr(gathering, f"gather_{name}", gather)
    for name in ("logs", "disks"):
        monkeypatch.setattr(
            gathering, f"gather_{name}", create_autospec(getattr(gathering, f"gather_{name}"))
        )
    stage = a_stage()
    stage.cluster.observe_listeners = {"b1": ("b1", 1), "b2": ("b2", 1)}
    stage.cluster.ended = frozenset({"c1", "b1"})

    gather_evidence(stage, threading.Event())

    assert asked == {what: {"b2"} for what in ("configs", "coordinators", "producers")}


@pytest.mark.parametrize("failing", [False, True])
def test_logs_are_read_after_disks_whatever_becomes_of_these(
    monkeypatch: pytest.MonkeyPatch, *, failing: bool
) -> None:
    done: list[str] = []

    def disks(*_: object) -> None:
        done.append("disks")
        if failing:
            raise EngineError("no disk")

    monkeypatch.setattr(gathering, "gather_disks", disks)
    monkeypatch.setattr(gathering, "gather_producers", lambda *_: done.append("producers"))
    monkeypatch.setattr(gathering, "gather_logs", lambda *_: done.append("logs"))
    with pytest.raises(EngineError, match="no disk") if failing else nullcontext():
        gathering._gather_disks_and_logs(a_stage(), {})
    assert done == ["producers", "disks", *([] if failing else ["producers"]), "logs"]
