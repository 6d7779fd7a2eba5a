"""What hits the harness ends what goes on, and throws nothing away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import KrucibleError
from harness.record.harness_failures import FAILURES_FILE, HarnessFailures
from harness.record.journal import Clock, JournalError, Journals, Recorder
from harness.workloads.worker import WorkloadError
from tests.harness.recorded import recorded


class FakeStage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journals = Journals(folder, "run", Clock())
        self.recorder = Recorder(self.journals.open("runner"), "runner")
        self.reports: list[tuple[str, str]] = []

    def report(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        del limit_s
        self.reports.append((phase, detail))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[FakeStage]:
    made = FakeStage(tmp_path)
    yield made
    made.journals.close()


def test_a_failure_is_recorded_and_reported(stage: FakeStage) -> None:
    failures = HarnessFailures(stage)
    with failures.survived("the load"):
        raise TypeError("a defect")
    (operation,) = recorded(stage.folder, "runner")
    assert (operation.f, operation.key, operation.value) == (
        "harness-failure",
        "the load",
        {"error": "TypeError: a defect"},
    )
    assert stage.reports == [("the load", "TypeError: a defect")]
    assert "Traceback" in (stage.folder / FAILURES_FILE).read_text()
    assert isinstance(failures.failure, KrucibleError)
    assert "report this" in failures.failure.next_step


def test_the_first_one_counts_and_each_is_reported_once(stage: FakeStage) -> None:
    failures = HarnessFailures(stage)
    died = WorkloadError("worker producer-1 died", got="TypeError: a defect")
    for error in (died, WorkloadError("worker producer-1 died", got="TypeError: a defect"), OSError("full")):
        with failures.survived("the load"):
            raise error
    assert failures.failure is died
    first, _full = recorded(stage.folder, "runner")
    assert first.value == {"error": "WorkloadError: worker producer-1 died; got: TypeError: a defect"}


def test_a_history_that_can_not_be_written_is_not_survived(stage: FakeStage) -> None:
    failures = HarnessFailures(stage)
    with pytest.raises(JournalError), failures.survived("the load"):
        raise JournalError("the history can't be written")
    assert failures.failure is None
