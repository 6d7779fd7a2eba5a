"""Heals of faults that are not in force: refused where a script asks for them, and recorded in a run."""

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.operations import OperationType
from harness.errors import UsageError
from harness.faults.contract import Bench
from harness.nemesis import nemesis as module
from harness.nemesis.nemesis import Nemesis
from harness.plan.planning import RunOptions, plan_run
from harness.plan.schedule import problems_of
from harness.record.journal import Clock, Journals, Recorder
from harness.record.ledger import Ledger
from harness.vocabulary import Heal, Inject, Kill, Move, Pass, Scenario, ScriptedSchedule, Topology
from tests.harness.recorded import recorded
from tests.harness.snapshots import led


class Fault:
    """A fault that changes nothing and whose probes succeed."""

    targets = ("n1",)
    cut = ()
    undo = ()

    def inject(self) -> None:
        """Do nothing; the probe succeeds nevertheless."""

    def heal(self) -> None:
        """Do nothing, as `inject`."""

    def took_effect(self) -> dict[str, Any]:
        return {}

    healed = took_effect


def test_a_heal_of_what_is_not_in_force_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "activate", lambda *_: Fault())
    journals = Journals(tmp_path, "abc", Clock())
    snapshot = led(Topology().nodes(), 1, (1,))
    recorder = Recorder(journals.open("nemesis"), "nemesis")
    nemesis = Nemesis(recorder, Ledger(tmp_path), cast("Bench", None), lambda: snapshot, threading.Event())
    assert nemesis.begin("a", Kill())
    assert nemesis.end("a")
    assert not nemesis.end("a")
    with pytest.raises(LookupError, match="no fault called 'b'"):
        nemesis.end("b")
    journals.close()

    heals = [operation for operation in recorded(tmp_path, "nemesis") if operation.f == "heal"]
    assert [(heal.type, heal.error) for heal in heals] == [
        (OperationType.INVOKE, None),
        (OperationType.OK, None),
        (OperationType.INVOKE, None),
        (OperationType.FAIL, "it is not in force"),
    ]
    assert {heal.value["kind"] for heal in heals} == {"kill"}


@pytest.mark.parametrize(
    ("moves", "problem"),
    [
        ((Heal("a"),), "move 1 heals 'a', which no move before it injects"),
        ((Inject("a", Kill()), Heal("b")), "move 2 heals 'b', which no move before it injects"),
        ((Heal("a"), Inject("a", Kill())), "move 1 heals 'a', which no move before it injects"),
        ((Inject("a", Kill()), Heal("a"), Pass(1), Heal("a")), "move 4 heals 'a', which is healed already"),
        (
            (Inject("a", Kill()), Heal("a"), Inject("a", Kill())),
            "move 3 injects 'a', a name that another fault has already",
        ),
    ],
)
def test_a_script_whose_heals_make_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, moves: tuple[Move, ...], problem: str
) -> None:
    script = ScriptedSchedule(moves, 10)
    assert problems_of(script) == [problem]
    scenario = Scenario(summary="s", why="w", schedule=script)
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _: scenario)
    with pytest.raises(UsageError) as caught:
        plan_run(RunOptions(scenario="a/script", seed=1))
    assert problem in caught.value.got


def test_a_fault_may_be_left_in_force() -> None:
    assert problems_of(ScriptedSchedule((Inject("a", Kill()), Inject("b", Kill()), Heal("b")), 10)) == []
