"""The spine: whatever goes wrong, faults are healed, and what was recorded is judged."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, create_autospec

import msgspec
import pytest

from checkers.history.operations import History
from checkers.history.reading import HistoryError
from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns import performing
from harness.clients.java.process import JavaDiedError
from harness.errors import EngineError, KrucibleError
from harness.kafka.wire import WireError
from harness.observers import Observers
from harness.observers.view import ClusterView
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import JournalError, Journals
from harness.run import run_host, runner
from harness.run.diagnosis import Diagnosis
from harness.run.ended import EndedRun, RecordedRun
from harness.run.recovery import await_recovery
from harness.run.run_host import Host
from harness.run.starting import ClusterNotReadyError
from harness.run.threads import already_done, in_thread
from harness.vocabulary import ShareWorkload, Workload
from harness.workloads.context import KafkaClients, WorkloadContext
from harness.workloads.load import Load
from harness.workloads.probing import WriteProbe
from harness.workloads.worker import WorkloadError
from tests.harness.run.stages import PLAN, a_stage, an_execution
from tests.harness.waiting import BOUND_S, StandingTime

LEFT = "throttles of reassignments or configs of brokers are left: no broker answers"
DIED = WorkloadError("worker producer-1 died")
JAVA_DIED = JavaDiedError("the client kafka-clients died")
CONTEXT = WorkloadContext(
    PLAN.scenario.workload,
    create_autospec(Journals, instance=True),
    create_autospec(KafkaClients, instance=True),
)


def a_probe(context: WorkloadContext[Workload]) -> MagicMock:
    """What writes to partitions in a recovery; nothing is written."""
    assert context is CONTEXT
    probe: MagicMock = create_autospec(WriteProbe, instance=True)
    probe.complaints = []
    return probe


def test_faults_are_healed_even_when_the_history_takes_nothing_more() -> None:
    execution, stage = an_execution(), a_stage()
    stage.phase.side_effect = JournalError("the history can't be written")

    with pytest.raises(JournalError):
        runner._carry_out(stage, execution, HarnessFailures(stage), threading.Event())

    execution.nemesis.heal_all.assert_called_once_with()


def test_faults_are_healed_when_the_schedule_breaks_off() -> None:
    execution, stage = an_execution(), a_stage()
    execution.carry_out.side_effect = KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner._carry_out(stage, execution, HarnessFailures(stage), threading.Event())

    execution.nemesis.heal_all.assert_called_once_with()


def test_throttles_that_can_not_be_removed_are_reported() -> None:
    execution, stage = an_execution(), a_stage()
    execution.remove_throttles.side_effect = WireError("no broker answers")

    runner._end_throttles_and_retention(stage, execution)

    stage.report.assert_called_once_with("recover", LEFT)


def test_throttles_are_removed_before_recovery_as_soon_as_brokers_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "THROTTLES_PAUSE_S", 0.001)
    execution, stage = an_execution(), a_stage()
    execution.remove_throttles.side_effect = [WireError("brokers 2 did not answer"), WireError("again"), None]

    runner._await_throttles_removed(stage, execution, threading.Event())

    assert execution.remove_throttles.call_count == 3
    stage.report.assert_not_called()


@pytest.mark.parametrize("cancelled", [True, False])
def test_throttles_that_remain_during_recovery_are_reported(
    monkeypatch: pytest.MonkeyPatch, *, cancelled: bool
) -> None:
    monkeypatch.setattr(runner, "THROTTLES_BOUND_S", 60.0 if cancelled else -1.0)
    execution, stage, over = an_execution(), a_stage(), threading.Event()
    execution.remove_throttles.side_effect = WireError("no broker answers")
    if cancelled:
        over.set()

    runner._await_throttles_removed(stage, execution, over)

    execution.remove_throttles.assert_called_once_with()
    stage.report.assert_called_once_with("heal", LEFT)


@pytest.mark.parametrize("failure", [None, DIED])
def test_no_traffic_is_awaited_of_a_load_that_may_be_dead(
    monkeypatch: pytest.MonkeyPatch, failure: KrucibleError | None
) -> None:
    monkeypatch.setattr(runner, "WriteProbe", a_probe)
    monkeypatch.setattr(runner, "await_recovery", create_autospec(await_recovery, return_value=True))
    stage, failures = a_stage(), HarnessFailures(a_stage())
    failures.failure = failure

    assert runner._recover(stage, CONTEXT, failures, threading.Event()) is False
    assert stage.tally.await_more.called is (failure is None)


def test_recovery_writes_nothing_to_topics_that_final_readers_leave_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    awaiting = create_autospec(await_recovery, return_value=True)
    monkeypatch.setattr(runner, "WriteProbe", MagicMock())
    monkeypatch.setattr(runner, "await_recovery", awaiting)
    workload = ShareWorkload(groups=("share-0",), dead_letters=True)
    context = msgspec.structs.replace(CONTEXT, workload=workload)
    runner._recover(a_stage(), context, HarnessFailures(a_stage()), threading.Event())
    assert awaiting.call_args.args[2] == ("shares-0", "dlq.share-0")
    assert awaiting.call_args.kwargs["unread"] == {"dlq.share-0"}


def test_nothing_is_awaited_of_brokers_that_all_ended_by_themselves() -> None:
    execution, stage = an_execution(), a_stage()
    stage.cluster.observe_listeners = {"b1": ("b1", 1), "b2": ("b2", 1)}
    stage.cluster.ended = frozenset({"c1", "b1", "b2"})
    execution.remove_throttles.side_effect = WireError("no broker answers")
    over = create_autospec(threading.Event, instance=True)

    runner._await_throttles_removed(stage, execution, over)

    over.wait.assert_not_called()
    execution.remove_throttles.assert_called_once_with()
    stage.report.assert_called_once_with("heal", LEFT)


def test_brokers_that_ended_by_themselves_are_asked_nothing_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = {}
    for name in ("configs", "coordinators", "producers"):

        def gather(_: object, listeners: dict[str, object], *__: object, what: str = name) -> None:
            asked[what] = set(listeners)

        monkeypatch.setattr(runner, f"gather_{name}", gather)
    for name in ("logs", "disks"):
        monkeypatch.setattr(runner, f"gather_{name}", create_autospec(getattr(runner, f"gather_{name}")))
    stage = a_stage()
    stage.cluster.observe_listeners = {"b1": ("b1", 1), "b2": ("b2", 1)}
    stage.cluster.ended = frozenset({"c1", "b1"})

    runner._gather_evidence(stage, threading.Event())

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

    monkeypatch.setattr(runner, "gather_disks", disks)
    monkeypatch.setattr(runner, "gather_producers", lambda *_: done.append("producers"))
    monkeypatch.setattr(runner, "gather_logs", lambda *_: done.append("logs"))
    with pytest.raises(EngineError, match="no disk") if failing else nullcontext():
        runner._gather_disks_and_logs(a_stage(), {})
    assert done == ["producers", "disks", *([] if failing else ["producers"]), "logs"]


def test_retention_that_goes_on_is_reported() -> None:
    execution, stage = an_execution(), a_stage()
    execution.end_retention.return_value = ["retention.ms of log-0 is still reported by 1 of 3 brokers"]

    runner._end_throttles_and_retention(stage, execution)

    stage.report.assert_called_once_with(
        "recover", "retention.ms of log-0 is still reported by 1 of 3 brokers"
    )


PARTS = (
    "await_throttles_removed", "recover", "end_throttles_and_retention", "read_everything", "gather_evidence",
)  # fmt: skip
"""Functions of the runner, without the underscore, that a `Play` replaces."""


class Play:
    """A run whose parts only say that they were reached; one of them may raise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.reached: list[str] = []
        self.raised: dict[str, Exception] = {}
        self.awaited: dict[str, threading.Event] = {}
        self.recovery_timed_out = False
        self.options: dict[str, bool] = {}
        self.stage = a_stage(folder)
        self.nemesis = SimpleNamespace(heal_all=lambda: self.reach("heal"))
        execution = SimpleNamespace(carry_out=lambda _schedule: self.reach("schedule"), nemesis=self.nemesis)
        monkeypatch.setattr(runner, "Execution", lambda *_: execution)
        monkeypatch.setattr(runner, "_context", lambda *_: None)
        for name in PARTS:
            monkeypatch.setattr(runner, f"_{name}", lambda *_, name=name, **options: self.do(name, **options))
        for name in ("observed", "loaded"):
            monkeypatch.setattr(runner, f"_{name}", lambda *_, name=name: self.around(name))
        monkeypatch.setattr(run_host, "open_stage", lambda *_, **__: self.opened())

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
        played = runner._played(PLAN, Host(), lambda _event: None, threading.Event())
        assert played.folder == self.stage.folder
        return played.failure


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


@pytest.mark.parametrize(
    ("recovered", "took_s", "recovery_timed_out"),
    [(True, 61.0, False), (False, 60.0, True), (False, 59.0, False)],
    ids=["recovered", "waited to the bound", "ended early, for a broker is dead"],
)
def test_recovery_timed_out_only_if_it_was_awaited_to_its_bound(
    monkeypatch: pytest.MonkeyPatch, *, recovered: bool, took_s: float, recovery_timed_out: bool
) -> None:
    clock = StandingTime()

    def await_recovery(*_: object, **__: object) -> bool:
        clock.go_on(took_s)
        return recovered

    monkeypatch.setattr(runner, "time", clock)
    monkeypatch.setattr(runner, "WriteProbe", a_probe)
    monkeypatch.setattr(runner, "await_recovery", await_recovery)
    stage = a_stage()
    assert stage.plan.scenario.assumptions.recovery_ms == 60_000
    assert runner._recover(stage, CONTEXT, HarnessFailures(stage), threading.Event()) is recovery_timed_out


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


def test_what_could_not_be_healed_is_neither_awaited_nor_read(play: Play) -> None:
    play.raised["heal"] = EngineError("the engine refused")
    assert isinstance(play.play(), EngineError)
    assert play.reached == [
        "start", "schedule", "heal", "end of loaded", "end of observed", "gather_evidence",
        "end of the history", "removal",
    ]  # fmt: skip


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
    monkeypatch.setattr(runner, "read_history", unreadable)
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
    ended = EndedRun(RecordedRun(tmp_path, failure, already_done()), History("r", "", ()), verdict)
    monkeypatch.setattr(performing, "execute", lambda *_: ended)
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
