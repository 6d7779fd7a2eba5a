"""The end of a schedule: whatever breaks, no fault is left in force that can be ended."""

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.operations import OperationType
from checkers.history.units import NS_PER_MS
from harness.errors import EngineError
from harness.faults.contract import Bench
from harness.nemesis import nemesis as module
from harness.nemesis.nemesis import Nemesis
from harness.record.journal import Clock, JournalError, Journals, Recorder
from harness.record.ledger import Ledger, pending_undos, read_ledger
from harness.vocabulary.administration import broker
from harness.vocabulary.faults import Pause, Target
from harness.vocabulary.scenario import FixedSchedule, Step
from harness.vocabulary.topology import Topology
from tests.harness.recorded import recorded
from tests.harness.snapshots import led

TWO = FixedSchedule(
    steps=(Step(0, 60_000, Pause(target=Target.RANDOM)), Step(1, 60_000, Pause(target=Target.RANDOM))),
    duration_ms=2,
)


class Fake:
    """A fault that notes what is done with it."""

    targets = ("n1",)
    cut = ()
    undo = ()

    def __init__(self, fault: str, done: list[str], refusing: set[str]) -> None:
        self._fault, self._done, self._refusing = fault, done, refusing

    def inject(self) -> None:
        self._note("inject")

    def heal(self) -> None:
        self._note("heal")

    def took_effect(self) -> dict[str, Any]:
        return {}

    healed = took_effect

    def _note(self, what: str) -> None:
        if f"{what} {self._fault}" in self._refusing:
            raise EngineError(f"{what} {self._fault} refused")
        self._done.append(f"{what} {self._fault}")


class Rig:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, schedule: FixedSchedule = TWO) -> None:
        self.done: list[str] = []
        self.refusing: set[str] = set()
        monkeypatch.setattr(
            module, "activate", lambda _spec, fault, *_: Fake(fault, self.done, self.refusing)
        )
        self.folder = folder
        self.journals = Journals(folder, "abc", Clock())
        self.ledger = Ledger(folder)
        recorder = Recorder(self.journals.open("nemesis"), "nemesis")
        nodes = Topology().nodes()
        self.nemesis = Nemesis(
            recorder,
            self.ledger,
            cast("Bench", None),
            lambda: led(nodes, 1, (1,), down=self.nemesis.down),
            threading.Event(),
        )
        self.nemesis.carry_out(schedule)

    def pending(self) -> list[str]:
        return [entry.fault for entry in pending_undos(read_ledger(self.folder))]


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(tmp_path, monkeypatch)


LATE = FixedSchedule(steps=(Step(10, 60, Pause(target=Target.RANDOM)),), duration_ms=70)


def test_a_fault_that_begins_late_is_held_for_its_whole_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_fake: Fake) -> dict[str, Any]:
        threading.Event().wait(0.05)
        return {}

    monkeypatch.setattr(Fake, "took_effect", slow)
    rig = Rig(tmp_path, monkeypatch, LATE)

    assert rig.done == ["inject f1", "heal f1"]
    rig.journals.close()
    assert held_ns(tmp_path, "f1") >= 60 * NS_PER_MS


TWICE = FixedSchedule(
    steps=(Step(0, 10, Pause(broker(1))), Step(20, 10, Pause(broker(1))), Step(25, 10, Pause(broker(2)))),
    duration_ms=40,
)


def test_a_fault_that_follows_another_waits_until_that_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_fake: Fake) -> dict[str, Any]:
        threading.Event().wait(0.05)
        return {}

    monkeypatch.setattr(Fake, "took_effect", slow)
    rig = Rig(tmp_path, monkeypatch, TWICE)
    assert rig.done == ["inject f1", "heal f1", "inject f2", "inject f3", "heal f2", "heal f3"], (
        "f3 was to begin while f2 is in force"
    )


def test_a_fault_of_a_script_is_held_as_long_as_was_wanted_at_least(rig: Rig) -> None:
    assert rig.nemesis.begin("wanted", Pause(target=Target.RANDOM), hold_ms=60)
    assert rig.nemesis.end("wanted")
    rig.journals.close()
    assert held_ns(rig.folder, "wanted") >= 60 * NS_PER_MS


def held_ns(folder: Path, fault: str) -> int:
    """From the end of the injection to the end of the heal."""
    times = {
        operation.f: operation.time_ns
        for operation in recorded(folder, "nemesis")
        if operation.type is OperationType.OK and operation.key == fault
    }
    return times["heal"] - times["inject"]


def test_all_that_is_in_force_is_ended(rig: Rig) -> None:
    rig.nemesis.heal_all()
    assert rig.done == ["inject f1", "inject f2", "heal f1", "heal f2"]
    assert rig.pending() == []


def test_a_heal_that_fails_does_not_keep_the_next_from_being_healed(rig: Rig) -> None:
    rig.refusing.add("heal f1")
    with pytest.raises(EngineError, match="heal f1 refused"):
        rig.nemesis.heal_all()
    assert rig.done[2:] == ["heal f2"]
    assert rig.pending() == ["f1"]


def test_a_history_that_can_not_be_written_does_not_keep_faults_in_force(rig: Rig) -> None:
    rig.journals.close()
    with pytest.raises(JournalError):
        rig.nemesis.heal_all()
    assert rig.done[2:] == ["heal f1", "heal f2"]
    assert rig.pending() == []
