"""Nodes that die by themselves: no fault hits them, the history says why, and the schedule goes on."""

from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import OperationType
from harness.cluster.containers import NotRunningError
from harness.faults.contract import NotConfirmedError
from harness.faults.refused_faults import DEAD
from harness.vocabulary import (
    Fault,
    FixedSchedule,
    Kill,
    Partition,
    Pattern,
    Pause,
    PowerLoss,
    Step,
    broker,
)
from tests.harness.nemesis.nemesis_rig import NemesisRig

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO


class Rig(NemesisRig):
    """A nemesis before brokers that die when a test says so, seen by it or not yet."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known_dead: set[str] = set()
        self.dead: set[str] = set()
        self.healed: list[str] = []
        super().__init__(folder, monkeypatch)

    def fault(self, name: str, target: str) -> "Fake":
        return Fake(self, name, target)

    def seen_dead(self) -> set[str]:
        return self.known_dead


class Fake:
    cut = ()
    undo = ()

    def __init__(self, rig: Rig, fault: str, target: str) -> None:
        self._rig, self._fault, self.targets = rig, fault, (target,)

    def inject(self) -> None:
        if self.targets[0] in self._rig.dead:
            raise NotRunningError(self.targets[0])

    def took_effect(self) -> dict[str, Any]:
        return {"seen": True}

    def heal(self) -> None:
        self._rig.healed.append(self._fault)

    def healed(self) -> dict[str, Any]:
        if self.targets[0] in self._rig.dead:
            raise NotConfirmedError(f"{self.targets[0]} is dead: its process ended by itself")
        return {"gone": True}


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(tmp_path, monkeypatch)


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "as it is injected"])
@pytest.mark.parametrize("spec", [Kill(broker(1)), Pause(broker(1)), PowerLoss(broker(1))])
def test_a_schedule_goes_on_without_the_fault_of_a_dead_node(rig: Rig, spec: Fault, *, seen: bool) -> None:
    rig.dead = {"b1"}
    rig.known_dead = {"b1"} if seen else set()
    steps = (Step(0, 5, spec), Step(10, 5, Pause(broker(2))))
    rig.nemesis.carry_out(FixedSchedule(steps, 20))
    rig.nemesis.heal_all()

    injected = rig.ended("inject")
    assert (injected["f1"].type, injected["f1"].error) == (FAIL, DEAD.why)
    assert injected["f1"].value["refused"] == "dead"
    assert "targets" not in injected["f1"].value
    assert injected["f2"].type is OK
    assert rig.healed == ["f2"]
    assert rig.nemesis.down == frozenset()
    assert rig.pending() == []


def test_nobody_is_cut_off_who_is_dead(rig: Rig) -> None:
    rig.known_dead = {"b1"}
    assert not rig.nemesis.begin("a", Partition(Pattern.ISOLATE_ONE, broker(1)))
    assert rig.ended("inject")["a"].value["refused"] == "dead"


def test_a_node_that_dies_between_the_fault_and_its_heal_is_reported(rig: Rig) -> None:
    assert rig.nemesis.begin("a", Pause(broker(1)))
    rig.dead = rig.known_dead = {"b1"}
    assert rig.nemesis.down == {"b1"}
    assert not rig.nemesis.begin("b", Kill(broker(1))), "it is held, and dead besides"
    assert not rig.nemesis.end("a")
    assert not rig.nemesis.begin("c", Kill(broker(1)))

    (healed,) = rig.ended("heal").values()
    assert (healed.type, healed.error) == (INFO, "b1 is dead: its process ended by itself")
    injected = rig.ended("inject")
    assert [injected[name].value.get("refused") for name in "abc"] == [None, "held", "dead"]
    assert rig.pending() == []


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "as it is struck"])
def test_a_gambit_strikes_those_who_live(rig: Rig, *, seen: bool) -> None:
    rig.dead = {"b2"}
    rig.known_dead = {"b2"} if seen else set()
    struck = {f"g1f{number}": Kill(broker(number)) for number in (1, 2, 3)}
    assert not rig.nemesis.inject_in_parallel("g1", struck)
    assert rig.nemesis.down == {"b1", "b3"}
    assert rig.nemesis.heal_in_parallel(list(struck))

    injected = rig.ended("inject")
    assert [injected[name].type for name in struck] == [OK, FAIL, OK]
    assert injected["g1f2"].value["refused"] == "dead"
    assert sorted(rig.healed) == ["g1f1", "g1f3"]
    assert rig.pending() == []
