"""Faults of a node that dies by itself: before it is struck, while a fault is in force, or at its heal."""

from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.faults import ResolvedBy
from harness.cluster.containers import NodeContainers, NotRunningError
from harness.cluster.homes import NodeHome
from harness.faults import disk, process
from harness.faults.activate import activate
from harness.faults.contract import ActiveFault, Bench, NotConfirmedError
from harness.faults.targets import Resolved
from harness.vocabulary import DeadDisk, Fault, Kill, Pause, PowerLoss, Stop, Topology, WipeDisk


class Node:
    """A node whose process ends when a test says so."""

    def __init__(self) -> None:
        self.running = True
        self.paused = False
        self.survives = True

    def kill(self) -> None:
        self._end()

    def stop(self, _timeout_s: int) -> None:
        self._end()

    def start(self) -> None:
        self.running = self.survives

    def pause(self) -> None:
        if not self.running:
            raise NotRunningError("n1")
        self.paused = True

    def unpause(self) -> None:
        self.paused = False

    def state(self) -> dict[str, Any]:
        return {"Running": self.running, "Paused": self.paused, "ExitCode": 137}

    def die(self) -> None:
        self.running = self.paused = False

    def _end(self) -> None:
        if not self.running:
            raise NotRunningError("n1")
        self.running = False


class Rig:
    """One node, on whose disk lies a file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node = Node()
        self.home = NodeHome(folder / "home", folder / "disk")
        self.home.folder.mkdir()
        self.home.disk.mkdir()
        self.home.set_format_arguments(["--standalone"])
        (self.home.disk / "meta.properties").write_text("directory.id=old\n")
        self.disk_done: list[str] = []
        monkeypatch.setattr(process, "answers", lambda *_, **__: self.node.running and not self.node.paused)
        monkeypatch.setattr(process, "PROBE_BOUND_S", 60.0)
        for name in ("shut_down", "mount", "unmount"):
            monkeypatch.setattr(disk, name, partial(self._did, name))

    def _did(self, name: str, _home: NodeHome) -> bool:
        self.disk_done.append(name)
        return True

    def fault(self, spec: Fault) -> ActiveFault:
        (node, *_) = Topology().nodes()
        containers = {"n1": cast("NodeContainers", self.node)}
        bench = Bench((node,), containers, {"n1": "10.0.0.1"}, {"n1": self.home})
        return activate(spec, "f1", Resolved(node, ResolvedBy.NAME), bench)


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(tmp_path, monkeypatch)


@pytest.mark.parametrize("spec", [Kill(), Stop(), Pause(), WipeDisk(), WipeDisk(by="stop"), PowerLoss()])
def test_nothing_is_done_to_a_node_that_is_dead(rig: Rig, spec: Fault) -> None:
    rig.node.die()
    with pytest.raises(NotRunningError):
        rig.fault(spec).inject()
    assert rig.disk_done == []
    assert [path.name for path in rig.home.disk.iterdir()] == ["meta.properties"]


def test_a_node_that_dies_while_frozen_is_recorded_as_dead(rig: Rig) -> None:
    pause = rig.fault(Pause())
    pause.inject()
    rig.node.die()
    with pytest.raises(NotConfirmedError, match="n1 is dead: its process ended by itself"):
        pause.took_effect()
    pause.heal()
    with pytest.raises(NotConfirmedError, match="n1 is dead: its process ended by itself"):
        pause.healed()


@pytest.mark.parametrize("spec", [Kill(), Stop(), WipeDisk(), PowerLoss()])
def test_a_node_that_dies_during_its_restart_is_recorded_as_dead(rig: Rig, spec: Fault) -> None:
    rig.node.survives = False
    fault = rig.fault(spec)
    fault.inject()
    fault.heal()
    with pytest.raises(NotConfirmedError, match="n1 is dead: its process ended by itself"):
        fault.healed()


def test_a_node_that_ended_since_its_disk_was_dead_is_started_on_what_is_left(rig: Rig) -> None:
    fault = rig.fault(DeadDisk())
    fault.inject()
    rig.node.die()
    fault.heal()
    assert rig.disk_done == ["shut_down", "unmount", "mount"]
    assert fault.healed()["answers"] is True
