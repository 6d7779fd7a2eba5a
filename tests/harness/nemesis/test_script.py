"""A script makes its moves in order, waits for what it says, and stops at what does not come about."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.operations import Operation, OperationType
from harness.kafka.answers import QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.course import CourseContext
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.operator import Operator, Performed
from harness.nemesis.script import ScriptCourse
from harness.record.events import RecordsAcknowledged as AcknowledgedEvent
from harness.record.journal import Clock, Journals, Recorder
from harness.record.tally import AcknowledgedCounter
from harness.vocabulary import (
    Acknowledged,
    AdminOperation,
    AlterTopic,
    Await,
    Configure,
    Fault,
    Heal,
    Inject,
    Kill,
    LeadsQuorum,
    Move,
    Node,
    Pass,
    Perform,
    ScriptedSchedule,
    Topology,
    broker,
)
from harness.workloads.worker import WorkloadError
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
ASK = AlterTopic("t", "c", "v")
LEAST_HOLD_MS = 7
LEADER = QuorumAnswer(0, 1, 3, 7, (), ())


class Bench:
    """A nemesis and operators that note what they are asked, and do as the test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[str] = []
        self.refused: set[str] = set()
        self.answers: list[Performed] = []
        self.cancelled = threading.Event()
        self.tally = AcknowledgedCounter()
        self.quorum: Callable[[], QuorumAnswer | None] = lambda: None
        self.operators = 0
        self.whole = False

    def begin(self, name: str, fault: Fault, least_ms: int) -> bool:
        assert least_ms == LEAST_HOLD_MS
        self.done.append(f"inject {name} {type(fault).__name__}")
        return name not in self.refused

    def end(self, name: str) -> bool:
        self.done.append(f"heal {name}")
        return name not in self.refused

    def new_operator(self) -> Operator:
        self.operators += 1
        return cast("Operator", self)

    def perform(self, operation: AdminOperation, timeout_ms: int) -> Performed:
        assert operation == ASK
        self.done.append(f"perform {timeout_ms}")
        return self.answers.pop(0)

    def configure(self, node: Node, properties: Mapping[str, str | None]) -> None:
        self.done.append(f"configure {node.name} {dict(properties)}")

    def look(self, beside: str | None = None) -> ClusterSnapshot:
        assert beside is None
        return ClusterSnapshot(Topology().nodes(), quorum=self.quorum())

    def play(self, *moves: Move) -> list[str]:
        journals = Journals(self.folder, "run", Clock())
        recorder = Recorder(journals.open("moves"), "moves")
        context = CourseContext(
            cast("Nemesis", self), self.new_operator, recorder, self.look, self.tally, self.cancelled
        )
        course = ScriptCourse(context, self.configure, {"n3": "10.0.0.3"}, LEAST_HOLD_MS)
        try:
            course.carry_out(ScriptedSchedule(moves, 10))
        finally:
            journals.close()
        return self.done

    def ended(self) -> list[Operation]:
        every = recorded(self.folder, "moves")
        assert [o.type is OperationType.INVOKE for o in every] == [True, False] * (len(every) // 2)
        *ended, last = every[1::2]
        assert last.f == "moves"
        self.whole = last.type is OK
        return ended


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_moves_are_made_in_order(bench: Bench) -> None:
    bench.answers = [Performed(OK, (0,))]
    bench.quorum = lambda: LEADER
    moves = (
        Inject("a", Kill(broker(1))),
        Configure(broker(2), {"x": "{n3}:1", "y": None}),
        Perform(ASK, timeout_ms=7),
        Await(LeadsQuorum()),
        Pass(1),
        Heal("a"),
    )
    assert bench.play(*moves) == [
        "inject a Kill",
        "configure n2 {'x': '10.0.0.3:1', 'y': None}",
        "perform 7",
        "heal a",
    ]
    assert [(o.f, o.key, o.type) for o in bench.ended()] == [
        ("configure", "n2", OK),
        ("perform", "alter-topic", OK),
        ("await", "leads-quorum", OK),
    ]
    assert bench.ended()[-1].value["saw"] == 1
    assert bench.whole


@pytest.mark.parametrize("move", [Inject("a", Kill()), Heal("a")])
def test_a_fault_that_is_not_proven_ends_the_script(bench: Bench, move: Move) -> None:
    bench.refused = {"a"}
    assert len(bench.play(move, Heal("b"))) == 1
    assert bench.ended() == []
    assert not bench.whole


@pytest.mark.parametrize(
    ("codes", "expect", "met"),
    [((0,), (), True), ((84,), (), True), ((), (), False), ((0, 84), (0, 84), True), ((0, 84), (84,), False)],
)
def test_answers_are_those_expected(
    bench: Bench, codes: tuple[int, ...], expect: tuple[int, ...], *, met: bool
) -> None:
    bench.answers = [Performed(OK, codes)]
    assert len(bench.play(Perform(ASK, expect=expect), Heal("b"))) == (2 if met else 1)
    (ended,) = bench.ended()
    assert ended.type is (OK if met else INFO)
    assert ended.value["codes"] == list(codes)


def test_what_was_refused_is_asked_again(bench: Bench) -> None:
    bench.answers = [Performed(FAIL, (), "no broker answers"), Performed(FAIL, (7,)), Performed(OK, (0,))]
    assert bench.play(Perform(ASK, expect=(0,), until_ms=60_000)) == ["perform 10000"] * 3
    assert bench.ended()[0].type is OK


def test_conditions_are_waited_for(bench: Bench) -> None:
    sights = iter([None, None, LEADER])
    bench.quorum = lambda: next(sights)
    bench.play(Await(LeadsQuorum()))
    assert bench.ended()[0].type is OK


def test_what_does_not_come_about_ends_the_script(bench: Bench) -> None:
    assert bench.play(Await(LeadsQuorum(), within_ms=0), Heal("a")) == []
    (ended,) = bench.ended()
    assert (ended.type, ended.error) == (INFO, "it was not reached")


def test_records_are_counted_from_where_the_waiting_began(bench: Bench) -> None:
    class Pauses(threading.Event):
        """In every pause between two looks, three more records are acknowledged."""

        def wait(self, timeout: float | None = None) -> bool:
            bench.tally.hear(AcknowledgedEvent(3))
            return super().wait(timeout)

    bench.tally.hear(AcknowledgedEvent(5))
    bench.cancelled = Pauses()
    bench.play(Await(Acknowledged(3)))
    assert bench.ended()[0].value["saw"] == 3


def test_a_cancelled_script_goes_no_further(bench: Bench) -> None:
    def cancel() -> None:
        bench.cancelled.set()

    bench.quorum = lambda: cast("Any", cancel())
    assert bench.play(Await(LeadsQuorum()), Heal("a")) == []


def test_what_is_in_the_background_is_not_waited_for_until_the_end(bench: Bench) -> None:
    gate = threading.Event()
    plain = bench.perform

    def slow(operation: AdminOperation, timeout_ms: int) -> Performed:
        assert gate.wait(BOUND_S)
        return plain(operation, timeout_ms)

    bench.perform = slow  # type: ignore[method-assign]
    bench.answers = [Performed(OK, (0,))]
    heal = bench.end

    def end(name: str) -> bool:
        gate.set()
        return heal(name)

    bench.end = end  # type: ignore[method-assign]
    assert bench.play(Perform(ASK, background=True), Heal("a")) == ["heal a", "perform 10000"]
    assert bench.operators == 2


def test_what_is_in_the_background_has_the_time_that_its_request_may_take(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.nemesis.script._GRACE_S", 0.0)
    gate = threading.Event()

    def slow(operation: AdminOperation, timeout_ms: int) -> Performed:
        assert gate.wait(BOUND_S)
        bench.done.append(f"performed {operation == ASK} {timeout_ms}")
        return Performed(OK, (0,))

    bench.perform = slow  # type: ignore[method-assign]
    timer = threading.Timer(0.2, gate.set)
    timer.start()
    assert bench.play(Perform(ASK, background=True)) == ["performed True 10000"]
    timer.join()


def test_what_breaks_in_the_background_is_reported(bench: Bench) -> None:
    with pytest.raises(WorkloadError, match="background-1"):
        bench.play(Perform(ASK, background=True))
