"""A gambit's faults come and go side by side, and what follows a gambit keeps its distance."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import OperationType
from checkers.history.units import NS_PER_MS
from harness.errors import EngineError
from harness.faults.contract import NotConfirmedError
from harness.vocabulary import (
    Fault,
    FixedSchedule,
    Gambit,
    Kill,
    Partition,
    Pattern,
    Step,
    broker,
)
from tests.harness.nemesis.nemesis_rig import NemesisRig
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
THREE = {f"g1f{number}": Kill(broker(number)) for number in (1, 2, 3)}


class Rig(NemesisRig):
    """A nemesis whose faults meet at a barrier: one that waits for another's proof is never proven."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, together: int = 1) -> None:
        self.together = threading.Barrier(together)
        self.refusing: set[str] = set()
        self.unproven: set[str] = set()
        super().__init__(folder, monkeypatch)

    def fault(self, name: str, target: str) -> "Fake":
        return Fake(self, name, target)


class Fake:
    cut = ()
    undo = ()

    def __init__(self, rig: Rig, fault: str, target: str) -> None:
        self._rig, self._fault, self.targets = rig, fault, (target,)

    def inject(self) -> None:
        if self._fault in self._rig.refusing:
            raise EngineError(f"{self._fault} refused")
        self._rig.together.wait(BOUND_S)

    def took_effect(self) -> dict[str, Any]:
        if self._fault in self._rig.unproven:
            raise NotConfirmedError("nothing was seen")
        return {"seen": True}

    def heal(self) -> None:
        self._rig.together.wait(BOUND_S)

    def healed(self) -> dict[str, Any]:
        return {"gone": True}


def test_faults_begin_and_end_at_once_each_by_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch, together=3)
    assert rig.nemesis.inject_in_parallel("g1", THREE)
    assert rig.nemesis.down == {"b1", "b2", "b3"}
    assert rig.nemesis.heal_in_parallel(["g1f3", "g1f1", "g1f2"])
    assert rig.nemesis.heal_in_parallel(["g1f3"]), "what is not in force is passed over"
    rig.journals.close()
    struck = rig.ended("inject")
    assert {o.process for o in struck.values()} == {"nemesis", "nemesis-2", "nemesis-3"}
    assert [struck[name].value["targets"] for name in THREE] == [["b1"], ["b2"], ["b3"]]
    assert {o.value["gambit"] for o in (*struck.values(), *rig.ended("heal").values())} == {"g1"}
    assert {o.type for o in rig.ended("heal").values()} == {OK}
    assert len(rig.ended("heal")) == 3
    assert rig.nemesis.down == frozenset()
    assert rig.pending() == []


def test_faults_begin_apart_where_they_are_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path, monkeypatch)
    clock = rig.journals.clock
    for f, names in (("inject", ["g1f1", "g1f2", "g1f3"]), ("heal", ["g1f3", "g1f2", "g1f1"])):
        since_ns = clock.now_ns()
        if f == "inject":
            assert rig.nemesis.inject_in_parallel("g1", THREE, apart_ms=30)
        else:
            assert rig.nemesis.heal_in_parallel(names, apart_ms=30)
        begun = {o.key: o.time_ns for o in recorded(tmp_path, "nemesis*") if (o.f, o.type) == (f, "invoke")}
        # Each at its time or later: a busy host may be late with any of them.
        for place, name in enumerate(names):
            assert begun[name] - since_ns >= place * 30 * NS_PER_MS
    rig.journals.close()


def test_a_node_is_struck_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path, monkeypatch)
    twice: Mapping[str, Fault] = {"g1f1": Kill(broker(1)), "g1f2": Kill(broker(1))}
    assert rig.nemesis.inject_in_parallel("g1", twice), "the second one had nothing to do"
    cut = {"g1f3": Partition(Pattern.ISOLATE_ONE, broker(1))}
    assert rig.nemesis.inject_in_parallel("g1", cut), "who is down can be cut off besides"
    rig.nemesis.heal_all()
    rig.journals.close()
    struck = rig.ended("inject")
    assert [struck[name].type for name in ("g1f1", "g1f2", "g1f3")] == [OK, FAIL, OK]
    assert struck["g1f2"].value["refused"] == "held"
    assert rig.pending() == []


def test_what_is_not_proven_is_reported_and_can_be_healed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    rig.unproven = {"g1f2"}
    assert not rig.nemesis.inject_in_parallel("g1", THREE)
    assert rig.nemesis.heal_in_parallel(list(THREE))
    rig.journals.close()
    assert rig.ended("inject")["g1f2"].type is INFO
    assert rig.pending() == []


def test_one_that_fails_does_not_keep_the_others_from_being_healed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    rig.refusing = {"g1f1"}
    with pytest.raises(EngineError, match="g1f1 refused"):
        rig.nemesis.inject_in_parallel("g1", THREE)
    rig.nemesis.heal_all()
    rig.journals.close()
    assert rig.ended("inject")["g1f1"].type is INFO
    assert set(rig.ended("heal")) == set(THREE)
    assert rig.pending() == []


def test_a_gambit_has_the_cluster_for_itself_and_what_follows_keeps_its_distance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    began: dict[str, int] = {}
    clock = rig.journals.clock

    def play(name: str, _: Gambit, until_ns: int) -> None:
        assert rig.nemesis.down == frozenset(), "what was in force is healed"
        began[name] = clock.now_ns()
        assert until_ns > began[name]
        threading.Event().wait(0.2 if name == "g1" else 0)
        began[f"after {name}"] = clock.now_ns()

    def took_effect(fake: Fake) -> dict[str, Any]:
        if fake._fault == "f2":
            rig.nemesis._cancelled.set()  # the rest of the 20 s is not waited for
        return {}

    monkeypatch.setattr(Fake, "took_effect", took_effect)
    steps = (Step(0, 60, Kill(broker(1))), Step(20_200, 1, Kill(broker(2))))
    gambits = (Gambit(30, "x", (), 50), Gambit(100, "x", (), 20_000))
    rig.nemesis.carry_out(FixedSchedule(steps, 20_300, gambits=gambits), play)
    rig.journals.close()
    injected = {
        o.key: o.time_ns for o in recorded(tmp_path, "nemesis") if (o.f, o.type) == ("inject", "invoke")
    }
    assert began["g1"] - injected["f1"] >= 60 * NS_PER_MS
    assert began["g2"] - began["after g1"] >= 20 * NS_PER_MS, "as far as from 80 to 100"
    # g2 was thought to last 20 s and lasted none: f2 is 100 ms after it, and not 20.1 s.
    assert 95 * NS_PER_MS <= injected["f2"] - began["after g2"] < 20_095 * NS_PER_MS


def test_a_schedule_with_gambits_needs_somebody_to_play_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    with pytest.raises(LookupError, match="nothing here carries out the gambit g1"):
        rig.nemesis.carry_out(FixedSchedule((), 10, gambits=(Gambit(0, "x", (), 1),)))
    rig.journals.close()
