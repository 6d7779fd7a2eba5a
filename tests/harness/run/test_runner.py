"""The spine: whatever goes wrong, faults are healed, and what was recorded is judged."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, create_autospec

import pytest

from checkers.history.operations import History
from checkers.history.reading import HistoryError
from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns import performing
from harness.clients.java.process import JavaDiedError
from harness.errors import EngineError, KrucibleError
from harness.observers import Observers
from harness.observers.view import ClusterView
from harness.record.events import Event, RunEnded
from harness.record.journal import JournalError
from harness.run import ended, execution, run_host, runner
from harness.run.diagnosis import Diagnosis
from harness.run.ended import EndedRun, RecordedRun
from harness.run.run_host import Host
from harness.run.starting import ClusterNotReadyError
from harness.run.threads import already_done, in_thread
from harness.workloads.load import Load
from harness.workloads.worker import WorkloadError
from tests.harness.run.stages import PLAN, a_stage
from tests.harness.waiting import BOUND_S

DIED = WorkloadError("worker producer-1 died")
JAVA_DIED = JavaDiedError("the client kafka-clients died")
HISTORY = History("r", "", ())
VERDICT = Verdict(validity=Validity.VALID, results=())


PARTS = (
    "await_throttles_removed", "recover", "end_throttles_and_retention", "read_everything", "gather_evidence",
)  # fmt: skip
"""Steps of a run that a `Play` replaces."""


class Play:
    """A run whose parts only say that they were reached; one of them may raise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.reached: list[str] = []
        self.events: list[Event] = []
        self.cancelled = threading.Event()
        self.raised: dict[str, BaseException] = {}
        self.awaited: dict[str, threading.Event] = {}
        self.recovery_timed_out = False
        self.options: dict[str, bool] = {}
        self.stage = a_stage(folder)
        self.nemesis = SimpleNamespace(heal_all=lambda: self.reach("heal"))
        made = SimpleNamespace(carry_out=lambda _schedule: self.reach("schedule"), nemesis=self.nemesis)
        monkeypatch.setattr(execution, "Execution", lambda *_: made)
        monkeypatch.setattr(runner, "context_of", lambda *_: None)
        for name in PARTS:
            monkeypatch.setattr(runner, name, lambda *_, name=name, **options: self.do(name, **options))
        for name in ("observed", "loaded"):
            monkeypatch.setattr(runner, name, lambda *_, name=name: self.around(name))
        monkeypatch.setattr(run_host, "open_stage", lambda *_, **__: self.opened())
        monkeypatch.setattr(ended, "read_history", lambda _folder: HISTORY)
        monkeypatch.setattr(ended, "judge", {HISTORY: VERDICT}.__getitem__)

    def reach(self, name: str) -> None:
        if name in self.awaited:
            assert self.awaited[name].wait(BOUND_S)
        self.reached.append(name)
        if name in self.raised:
            raise self.raised[name]

    def do(self, name: str, **options: bool) -> bool:
        self.reach(name)
        self.options |= options
        return self.recovery_timed_out

    @contextmanager
    def around(self, name: str) -> Iterator[MagicMock]:
        try:
            made = create_autospec({"observed": Observers, "loaded": Load}[name], instance=True)
            if name == "observed":
                made.view = create_autospec(ClusterView, instance=True)
            yield made
        finally:
            self.reach(f"end of {name}")

    @contextmanager
    def opened(self) -> Iterator[MagicMock]:
        self.reach("start")
        yield self.stage
        self.reach("end of the history")
        self.stage.removal = in_thread(lambda: self.reach("removal"), "removal")

    def play(self) -> KrucibleError | None:
        done = runner.execute(PLAN, Host(), self.events.append, self.cancelled)
        assert (done.folder, done.history, done.verdict) == (self.stage.folder, HISTORY, VERDICT)
        assert self.events == [RunEnded(str(self.stage.folder), VERDICT, PLAN.reproduce)]
        self.events.clear()
        return done.failure


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Play:
    return Play(monkeypatch, tmp_path)


ALL = [
    "start", "schedule", "heal", "await_throttles_removed", "recover", "end_throttles_and_retention",
    "end of loaded", "read_everything", "end of observed", "gather_evidence", "end of the history", "removal",
]  # fmt: skip


def test_a_run_in_order(play: Play) -> None:
    assert play.play() is None
    assert play.reached == ALL


@pytest.mark.parametrize("recovery_timed_out", [True, False])
def test_the_final_read_knows_whether_recovery_timed_out(play: Play, *, recovery_timed_out: bool) -> None:
    play.recovery_timed_out = recovery_timed_out
    assert play.play() is None
    assert play.options == {"recovery_timed_out": recovery_timed_out}


def test_a_recovery_that_could_not_be_looked_at_shortens_no_final_read(play: Play) -> None:
    play.raised["recover"] = DIED
    play.recovery_timed_out = True
    assert play.play() is DIED
    assert play.options == {"recovery_timed_out": False}


@pytest.mark.parametrize("where", ["schedule", "end of loaded", "end of observed", *PARTS])
@pytest.mark.parametrize("error", [DIED, JAVA_DIED])
def test_a_failure_prevents_neither_healing_nor_reading_nor_evidence(
    play: Play, where: str, error: KrucibleError
) -> None:
    play.raised[where] = error
    assert play.play() is error
    assert play.reached == ALL


def test_faults_are_healed_when_the_schedule_breaks_off(play: Play) -> None:
    play.raised["schedule"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        play.play()
    assert play.reached == ["start", "schedule", "heal", "end of loaded", "end of observed"]


def test_what_could_not_be_healed_is_neither_awaited_nor_read(play: Play) -> None:
    play.raised["heal"] = EngineError("the engine refused")
    assert isinstance(play.play(), EngineError)
    assert play.reached == [
        "start", "schedule", "heal", "end of loaded", "end of observed", "gather_evidence",
        "end of the history", "removal",
    ]  # fmt: skip


def test_a_run_that_is_cancelled_is_healed_and_its_evidence_gathered(play: Play) -> None:
    play.cancelled.set()
    assert play.play() is None
    assert play.reached == [
        "start", "schedule", "heal", "end of loaded", "end of observed", "gather_evidence",
        "end of the history", "removal",
    ]  # fmt: skip


def test_what_can_not_be_closed_at_the_end_is_reported_once_it_is_judged(play: Play) -> None:
    play.raised["end of the history"] = EngineError("the engine refused")
    assert play.play() is play.raised["end of the history"]
    play.raised["schedule"] = DIED
    assert play.play() is DIED, "the first failure counts"


def test_a_cluster_that_can_not_be_removed_is_reported_once_it_is_judged(play: Play) -> None:
    play.raised["removal"] = EngineError("the engine refused")
    assert isinstance(play.play(), EngineError)
    play.raised["schedule"] = DIED
    assert play.play() is DIED


def test_a_history_that_can_not_be_read_is_reported_once_the_cluster_is_gone(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging = threading.Event()

    def unreadable(_folder: Path) -> None:
        judging.set()
        raise HistoryError("cut short", expected="an end", place="runner")

    play.awaited["removal"] = judging
    monkeypatch.setattr(ended, "read_history", unreadable)
    with pytest.raises(HistoryError):
        runner.execute(PLAN, Host(), lambda _event: None, threading.Event())
    assert play.reached == ALL


def test_what_no_one_foresaw_of_a_removal_is_not_swallowed(play: Play) -> None:
    play.raised["removal"] = TypeError("a defect")
    with pytest.raises(TypeError):
        play.play()


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("start", EngineError("the engine refused")),
        ("schedule", JournalError("the history can't be written")),
        ("end of the history", JournalError("the history can't be written")),
    ],
)
def test_without_a_history_there_is_nothing_to_judge(play: Play, where: str, error: KrucibleError) -> None:
    play.raised[where] = error
    with pytest.raises(type(error)):
        play.play()


def test_starts_of_which_none_became_ready_are_judged(play: Play) -> None:
    last = Diagnosis(
        missing="there is no active controller",
        waited_s=90.0,
        load_per_cpu=1.0,
        sentences=("there is no active controller",),
        host=None,
        nodes={},
    )
    play.raised["start"] = ClusterNotReadyError(play.stage.folder, last)
    assert play.play() is None
    assert play.reached == ["start"]


@pytest.mark.parametrize("validity", Validity)
@pytest.mark.parametrize("failure", [None, DIED])
def test_an_invalid_verdict_outweighs_a_harness_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, validity: Validity, failure: KrucibleError | None
) -> None:
    verdict = Verdict(validity=validity, results=())
    done = EndedRun(RecordedRun(tmp_path, failure, already_done()), HISTORY, verdict)
    monkeypatch.setattr(performing, "execute", lambda *_: done)
    kept: list[Verdict] = []
    monkeypatch.setattr(performing, "keep", lambda _folder, _history, one, _by: kept.append(one))
    monkeypatch.setattr(performing, "show", lambda _text: None)

    def run() -> tuple[Path, Verdict]:
        return performing.perform(PLAN, Host(), threading.Event(), lambda _event: None)

    if failure is not None and validity is not Validity.INVALID:
        with pytest.raises(WorkloadError):
            run()
    else:
        assert run() == (tmp_path, verdict)
    assert kept == [verdict]
