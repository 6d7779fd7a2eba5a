"""The next run's cluster is opened while the last run ends: begun when, taken by whom, and taken down."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.errors import EngineError, KrucibleError
from harness.host import memory
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.record.events import Event, Listener, PhaseBegan, RunBegan
from harness.run import run_host, standby
from harness.run.run_host import Host
from harness.run.stage import Stage
from harness.run.standby import Standby
from harness.run.threads import already_done
from tests.harness.waiting import BOUND_S, wait_until

SCENARIO = "smoke/partition"
OFF = PhaseBegan("final-read")


def plan(seed: int) -> RunPlan:
    return plan_run(RunOptions(scenario=SCENARIO, seed=seed, kafka_version="4.3.1"))


class Stages:
    """In the place of real stages: a folder for each, reported as a real one is."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.events: list[str] = []
        self.may_open = threading.Event()
        self.may_open.set()
        self.failing: dict[int, Exception] = {}
        self.hearing: dict[int, Listener] = {}
        self.opened = threading.Semaphore(0)

    @contextmanager
    def open(
        self, plan: RunPlan, runs: Path, listener: Listener, _cancelled: threading.Event, *, keep: bool
    ) -> Iterator[Stage]:
        assert not keep
        seed = plan.options.seed
        folder = runs / SCENARIO / str(seed)
        folder.mkdir(parents=True)
        listener(RunBegan(SCENARIO, plan.version, seed, str(folder)))
        self.hearing[seed] = listener
        assert self.may_open.wait(BOUND_S)
        if seed in self.failing:
            raise self.failing[seed]
        stage = Stage.__new__(Stage)
        stage.folder = folder
        stage.removal = already_done()
        self.events.append(f"open {seed}")
        self.opened.release()
        try:
            yield stage
        finally:
            self.events.append(f"gone {seed}")

    def await_opened(self, number: int) -> None:
        """Wait until so many more are open."""
        for _ in range(number):
            assert self.opened.acquire(timeout=BOUND_S)


MEMORY = "MemTotal: 9000000 kB\nMemAvailable: {} kB\n"


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stages:
    made = Stages(tmp_path)
    (tmp_path / "meminfo").write_text(MEMORY.format(3_000_000))
    monkeypatch.setattr(memory, "INFORMATION", tmp_path / "meminfo")
    monkeypatch.setattr(standby, "open_stage", made.open)
    monkeypatch.setattr(run_host, "open_stage", made.open)
    return made


@pytest.fixture
def cancelled() -> threading.Event:
    return threading.Event()


def ignore_event(_event: Event) -> None:
    """A listener that does nothing."""


def test_the_next_stage_is_opened_when_the_load_is_off_and_taken_by_its_run(
    stages: Stages, cancelled: threading.Event
) -> None:
    heard: list[Event] = []
    with Standby(stages.runs, cancelled) as beside:
        with beside.stage(plan(1), plan(2), ignore_event):
            for phase in ("load", "heal", "recover"):
                stages.hearing[1](PhaseBegan(phase))
            assert 2 not in stages.hearing
            stages.hearing[1](OFF)
            stages.await_opened(2)
            stages.hearing[1](PhaseBegan("evidence"))
        with beside.stage(plan(2), None, heard.append) as stage:
            assert stage.folder.name == "2"
            stages.hearing[2](OFF)
            assert stages.events == ["open 1", "open 2", "gone 1"]
    assert stages.events == ["open 1", "open 2", "gone 1", "gone 2"]
    assert heard == [RunBegan(SCENARIO, "4.3.1", 2, str(stages.runs / SCENARIO / "2")), OFF]


def test_a_run_waits_for_a_stage_that_is_still_being_opened(
    stages: Stages, cancelled: threading.Event
) -> None:
    with Standby(stages.runs, cancelled) as beside:
        with beside.stage(plan(1), plan(2), ignore_event):
            stages.may_open.clear()
            stages.hearing[1](OFF)
        threading.Timer(0.05, stages.may_open.set).start()
        with beside.stage(plan(2), None, ignore_event):
            assert stages.events[-1] == "open 2"


def test_where_another_run_comes_next_the_one_that_waits_goes_without_a_trace(
    stages: Stages, cancelled: threading.Event
) -> None:
    host = Host(runs=stages.runs, standby=Standby(stages.runs, cancelled))
    first = Host(runs=stages.runs, standby=host.standby, following=plan(2))
    with first.stage(plan(1), ignore_event, cancelled):
        stages.hearing[1](OFF)
        stages.await_opened(2)
    assert (stages.runs / "latest").resolve().name == "1"
    with host.stage(plan(3), ignore_event, cancelled):
        assert stages.events == ["open 1", "open 2", "gone 1", "gone 2", "open 3"]
        assert (stages.runs / "latest").resolve().name == "3"
    assert sorted(path.name for path in (stages.runs / SCENARIO).iterdir()) == ["1", "3", "latest"]


def test_the_latest_run_is_the_one_that_goes_on(stages: Stages, cancelled: threading.Event) -> None:
    with Standby(stages.runs, cancelled) as beside:
        first = Host(runs=stages.runs, standby=beside, following=plan(2))
        with first.stage(plan(1), ignore_event, cancelled):
            stages.hearing[1](OFF)
            stages.await_opened(2)
        assert (stages.runs / "latest").resolve().name == "1"
        with Host(runs=stages.runs, standby=beside).stage(plan(2), ignore_event, cancelled):
            assert (stages.runs / SCENARIO / "latest").resolve().name == "2"


def test_what_waits_at_the_end_is_taken_down(stages: Stages, cancelled: threading.Event) -> None:
    with (
        Standby(stages.runs, cancelled) as beside,
        beside.stage(plan(1), plan(2), ignore_event),
    ):
        stages.hearing[1](OFF)
    assert stages.events[-1] == "gone 2"
    assert [path.name for path in (stages.runs / SCENARIO).iterdir()] == ["1"]


def test_nothing_is_begun_once_it_is_all_cancelled(stages: Stages, cancelled: threading.Event) -> None:
    with (
        Standby(stages.runs, cancelled) as beside,
        beside.stage(plan(1), plan(2), ignore_event),
    ):
        cancelled.set()
        stages.hearing[1](OFF)
    assert stages.events == ["open 1", "gone 1"]


def test_without_memory_for_two_clusters_the_next_one_is_started_when_the_last_is_gone(
    stages: Stages, cancelled: threading.Event
) -> None:
    (stages.runs / "meminfo").write_text(MEMORY.format(1_000_000))
    with Standby(stages.runs, cancelled) as beside:
        with beside.stage(plan(1), plan(2), ignore_event):
            stages.hearing[1](OFF)
        with beside.stage(plan(2), None, ignore_event):
            assert stages.events == ["open 1", "gone 1", "open 2"]


def test_a_stage_that_can_not_be_opened_fails_the_run_that_it_is_for(
    stages: Stages, cancelled: threading.Event
) -> None:
    stages.failing[2] = EngineError("the engine refused")
    with Standby(stages.runs, cancelled) as beside:
        with beside.stage(plan(1), plan(2), ignore_event):
            stages.hearing[1](OFF)
        heard: list[Event] = []
        with pytest.raises(EngineError), beside.stage(plan(2), None, heard.append):
            pass
        assert len(heard) == 1
    assert stages.events == ["open 1", "gone 1"]


def test_a_run_that_can_not_begin_leaves_no_cluster(stages: Stages, cancelled: threading.Event) -> None:
    def refuse(_event: Event) -> None:
        raise KrucibleError("the links to the latest run can't be made")

    with Standby(stages.runs, cancelled) as beside:
        with beside.stage(plan(1), plan(2), ignore_event):
            stages.may_open.clear()
            stages.hearing[1](OFF)
            wait_until(lambda: 2 in stages.hearing)
        threading.Timer(0.05, stages.may_open.set).start()
        with pytest.raises(KrucibleError, match="the links"), beside.stage(plan(2), None, refuse):
            pass
    assert stages.events[-2:] == ["open 2", "gone 2"]


def test_what_failed_to_open_and_is_for_nobody_keeps_its_folder(
    stages: Stages, cancelled: threading.Event
) -> None:
    stages.failing[2] = KrucibleError("no room")
    with (
        Standby(stages.runs, cancelled) as beside,
        beside.stage(plan(1), plan(2), ignore_event),
    ):
        stages.hearing[1](OFF)
    assert (stages.runs / SCENARIO / "2").is_dir()


def test_whoever_interrupts_twice_does_not_wait(stages: Stages, cancelled: threading.Event) -> None:
    with (
        suppress(KeyboardInterrupt),
        Standby(stages.runs, cancelled) as beside,
        beside.stage(plan(1), plan(2), ignore_event),
    ):
        stages.may_open.clear()
        stages.hearing[1](OFF)
        raise KeyboardInterrupt
    assert stages.events == ["open 1", "gone 1"]
    stages.may_open.set()
    stages.await_opened(2)


def test_a_cluster_that_is_to_be_kept_is_none_that_waited(
    monkeypatch: pytest.MonkeyPatch, stages: Stages, cancelled: threading.Event
) -> None:
    kept: list[bool] = []

    @contextmanager
    def opened(*_: object, keep: bool) -> Iterator[None]:
        kept.append(keep)
        yield

    monkeypatch.setattr(run_host, "open_stage", opened)
    with Standby(stages.runs, cancelled) as beside:
        host = Host(runs=stages.runs, keep=True, standby=beside, following=plan(2))
        with host.stage(plan(1), ignore_event, cancelled):
            pass
    assert kept == [True]


def test_without_a_standby_a_stage_is_opened_for_its_run(stages: Stages, cancelled: threading.Event) -> None:
    host = Host(runs=stages.runs, following=plan(2))
    with host.stage(plan(1), ignore_event, cancelled):
        stages.hearing[1](OFF)
        assert (stages.runs / "latest").resolve().name == "1"
    assert stages.events == ["open 1", "gone 1"]
