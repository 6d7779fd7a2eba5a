"""Blinks are played beside other faults: proven, recorded and healed, whatever comes between."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from checkers.history.faults import ResolvedBy
from checkers.history.operations import Operation, OperationType
from harness.cluster.containers import NotRunningError
from harness.errors import EngineError
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import cuts
from harness.faults.refused_faults import OVER
from harness.faults.reservations import Reservations
from harness.faults.targets import Resolved
from harness.nemesis import blinking as module
from harness.nemesis.blinking import Blinking
from harness.nemesis.timed import TimedError
from harness.plan.schedule import blinks_of
from harness.record.journal import Clock, JournalError, Journals, Recorder
from harness.record.ledger import Ledger, pending_undos, read_ledger
from harness.vocabulary import (
    Fault,
    FixedSchedule,
    Kill,
    LostAnswers,
    Mode,
    Partition,
    Pattern,
    Pause,
    Step,
    Target,
    Topology,
    broker,
    controller,
)
from tests.harness.recorded import recorded
from tests.harness.snapshots import led
from tests.harness.waiting import BOUND_S

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
NODES = Topology(mode=Mode.ISOLATED).nodes()
NAMES = tuple(node.name for node in NODES)
AT_ONCE = Step(0, 0, Pause(broker(1)))
LONG = Step(0, 60_000, Pause(broker(1)))


class Rig:
    """A player of blinks, before nodes that do not exist; a fault does what a test says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "activate", self._activate)
        self.folder = folder
        self.journals = Journals(folder, "abc", Clock())
        self.reservations = Reservations()
        self.cancelled = threading.Event()
        self.dead: set[str] = set()
        self.done: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.in_force = threading.Event()

    def blinking(self, *blinks: Step) -> Blinking:
        return Blinking(
            blinks_of(FixedSchedule((), 10, blinks=blinks)),
            Recorder(self.journals.open("nemesis-blinks"), "nemesis-blinks"),
            Ledger(self.folder),
            Bench(NODES, {}, {}, {}),
            look=lambda: led(NODES, 101, (1,), dead=frozenset(self.dead)),
            reservations=self.reservations,
            cancelled=self.cancelled,
        )

    def play(self, *blinks: Step) -> dict[str, list[Operation]]:
        """What is recorded of each blink, in order."""
        made = self.blinking(*blinks)
        made.start()
        made.join(BOUND_S)
        made.check()
        return self.operations_by_fault()

    def operations_by_fault(self) -> dict[str, list[Operation]]:
        self.journals.close()
        by_fault: dict[str, list[Operation]] = {}
        for operation in recorded(self.folder, "nemesis-blinks"):
            if operation.f in ("inject", "heal"):
                by_fault.setdefault(str(operation.key), []).append(operation)
        return by_fault

    def pending(self) -> list[str]:
        return [entry.fault for entry in pending_undos(read_ledger(self.folder))]

    def _activate(self, spec: Fault, fault: str, resolved: Resolved, bench: Bench) -> "Fake":
        assert bench.bound_s(10.0) == 1.0
        return Fake(self, spec, fault, resolved.node.name)


class Fake:
    undo = ()

    def __init__(self, rig: Rig, spec: Fault, fault: str, target: str) -> None:
        self._rig, self._fault, self.targets = rig, fault, (target,)
        self.cut = cuts(spec.pattern, NAMES, target, spec.draw) if isinstance(spec, Partition) else ()

    def inject(self) -> None:
        self._do("inject")

    def took_effect(self) -> dict[str, Any]:
        self._do("proof")
        self._rig.in_force.set()
        return {"seen": True}

    def heal(self) -> None:
        self._do("heal")

    def healed(self) -> dict[str, Any]:
        return {"gone": True}

    def _do(self, what: str) -> None:
        self._rig.done.append(f"{what} {self._fault}")
        if error := self._rig.errors.get(what):
            raise error


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(tmp_path, monkeypatch)


def types_of(operations: Sequence[Operation]) -> list[tuple[str, str]]:
    return [(operation.f, str(operation.type)) for operation in operations]


def test_blinks_are_proven_held_and_healed_one_after_the_other(rig: Rig) -> None:
    operations = rig.play(Step(30, 40, Pause(broker(2))), AT_ONCE)
    for name, target in (("blink1", "b1"), ("blink2", "b2")):
        begun, injected, _, healed = operations[name]
        assert types_of(operations[name]) == [
            ("inject", "invoke"),
            ("inject", "ok"),
            ("heal", "invoke"),
            ("heal", "ok"),
        ]
        assert begun.value["blink"] is True
        assert begun.value["kind"] == "pause"
        assert injected.value["targets"] == healed.value["targets"] == [target]
        assert (injected.value["probe"], healed.value["probe"]) == ({"seen": True}, {"gone": True})
        assert {operation.process for operation in operations[name]} == {"nemesis-blinks"}
    _, proven, asked, _ = operations["blink2"]
    assert asked.time_ns - proven.time_ns >= 40_000_000
    assert operations["blink2"][0].time_ns >= operations["blink1"][-1].time_ns
    assert rig.pending() == []


def test_one_whose_nodes_are_taken_is_refused_at_once(rig: Rig) -> None:
    rig.reservations.reserve("f1", ["b1"])
    operations = rig.play(AT_ONCE, Step(0, 0, Pause(Target.PARTITION_LEADER)))
    (_, refused) = operations["blink1"]
    assert (refused.type, refused.value["refused"]) == (FAIL, "held")
    injected = operations["blink2"][1]
    assert injected.value["targets"] != ["b1"], "whoever is free stands in for the leader"
    assert injected.value["resolved_by"] == "fallback"


def test_a_link_is_cut_to_somebody_whom_nobody_has(rig: Rig) -> None:
    taken = ["b2", "b3", "c1", "c3"]
    rig.reservations.reserve("f1", taken)
    for draw in range(7):
        rig.errors.clear()
        assert module._between_free(
            Partition(Pattern.LINK, broker(1), draw=draw),
            Resolved(NODES[3], ResolvedBy.NAME),
            led(NODES, 101, (1,), held=frozenset(taken)),
        ) == Partition(Pattern.LINK, broker(1), draw=1)
    operations = rig.play(
        Step(0, 0, Partition(Pattern.LINK, broker(1), draw=2)),
        Step(1, 0, Partition(Pattern.ISOLATE_ONE, broker(1))),
    )
    assert operations["blink1"][1].value["cut"] == [["b1", "c2"], ["c2", "b1"]]
    assert operations["blink1"][1].value["spec"]["draw"] == 2, "as it was planned"
    assert len(operations["blink2"][1].value["cut"]) == 10, "one that is cut off is cut off from all"


def test_a_link_needs_two_who_are_free(rig: Rig) -> None:
    rig.reservations.reserve("f1", [name for name in NAMES if name != "b1"])
    operations = rig.play(Step(0, 0, Partition(Pattern.LINK, broker(1))))
    assert operations["blink1"][1].value["refused"] == "held"


def test_clients_are_cut_from_brokers_alone(rig: Rig) -> None:
    rig.reservations.reserve("f1", ["b1", "b2", "b3"])
    operations = rig.play(Step(0, 0, LostAnswers(Target.BROKER)))
    assert operations["blink1"][1].value["refused"] == "held"


def test_who_has_no_process_is_refused_or_reported_once_it_is_tried(rig: Rig) -> None:
    rig.dead = {"b1"}
    operations = rig.play(AT_ONCE)
    assert operations["blink1"][1].value["refused"] == "dead"


def test_who_dies_right_then_was_not_hit(rig: Rig) -> None:
    rig.errors["inject"] = NotRunningError("b1")
    operations = rig.play(AT_ONCE)
    assert types_of(operations["blink1"]) == [("inject", "invoke"), ("inject", "fail")]
    assert rig.pending() == []
    assert rig.reservations.borrow(NAMES)


def test_one_that_is_not_proven_is_healed_and_reported(rig: Rig) -> None:
    rig.errors["proof"] = NotConfirmedError("nothing was counted")
    operations = rig.play(AT_ONCE)
    assert [operation.type for operation in operations["blink1"]] == ["invoke", INFO, "invoke", OK]
    assert rig.pending() == []


def test_a_fault_of_the_schedule_ends_a_blink_where_it_begins(rig: Rig) -> None:
    made = rig.blinking(LONG, Step(1, 0, Pause(broker(1))))
    made.start()
    assert rig.in_force.wait(BOUND_S)
    rig.reservations.reserve("f1", ["b1"])
    assert rig.done[-1] == "heal blink1"
    made.join(BOUND_S)
    made.check()
    operations = rig.operations_by_fault()
    assert operations["blink1"][-1].type is OK
    assert operations["blink2"][-1].value["refused"] == "held"


def test_at_the_end_of_the_schedule_the_last_blink_ends_and_the_others_are_reported(rig: Rig) -> None:
    made = rig.blinking(LONG, Step(60_000, 0, Kill()), Step(61_000, 0, Kill(controller(1))))
    made.start()
    assert rig.in_force.wait(BOUND_S)
    made.hurry()
    made.end(BOUND_S)
    operations = rig.operations_by_fault()
    assert operations["blink1"][-1].type is OK
    for name in ("blink2", "blink3"):
        (_, refused) = operations[name]
        assert (refused.type, refused.error, refused.value["refused"]) == (FAIL, OVER.why, "over")
    assert made.done == 3


def test_a_run_that_is_cancelled_heals_and_reports_nothing_more(rig: Rig) -> None:
    made = rig.blinking(LONG, Step(60_000, 0, Kill()))
    made.start()
    assert rig.in_force.wait(BOUND_S)
    rig.cancelled.set()
    made.hurry()
    made.end(BOUND_S)
    assert set(rig.operations_by_fault()) == {"blink1"}
    assert rig.done[-1] == "heal blink1"
    assert rig.pending() == []


@pytest.mark.parametrize("what", ["inject", "proof"])
def test_an_engine_that_refuses_ends_it_with_nothing_in_force(rig: Rig, what: str) -> None:
    rig.errors[what] = EngineError("refused")
    made = rig.blinking(LONG)
    made.start()
    with pytest.raises(EngineError, match="refused"):
        made.end(BOUND_S)
    assert rig.done[-1] == "heal blink1"
    assert rig.pending() == []
    assert rig.reservations.borrow(NAMES)


def test_what_can_not_be_healed_stays_in_the_ledger(rig: Rig) -> None:
    rig.errors["heal"] = EngineError("refused")
    made = rig.blinking(AT_ONCE)
    made.start()
    made.join(BOUND_S)
    with pytest.raises(EngineError, match="refused"):
        made.check()
    assert rig.pending() == ["blink1"]
    assert rig.reservations.borrow(NAMES)


def test_a_history_that_can_not_be_written_does_not_keep_a_blink_in_force(rig: Rig) -> None:
    made = rig.blinking(LONG)
    made.start()
    assert rig.in_force.wait(BOUND_S)
    rig.journals.close()
    made.hurry()
    with pytest.raises(JournalError):
        made.end(BOUND_S)
    assert rig.done[-1] == "heal blink1"
    assert rig.pending() == []


def test_what_was_not_meant_to_happen_is_reported_as_that(rig: Rig) -> None:
    rig.errors["inject"] = LookupError("no such node")
    made = rig.blinking(AT_ONCE)
    made.start()
    with pytest.raises(TimedError, match="blinking ended unexpectedly") as caught:
        made.end(BOUND_S)
    assert caught.value.got == "LookupError: no such node"
    assert caught.value.expected == "1 blinks, 0 were done"
