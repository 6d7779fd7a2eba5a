"""A defect of the harness in the middle of a real run: healed, read, gathered, judged, and told."""

from pathlib import Path

import pytest

from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.record.mishaps import FAILURES_FILE
from harness.workloads.producing import ProducerWorker
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster


def test_a_worker_that_dies_throws_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = list(range(400))
    sound = ProducerWorker.send_once

    def defect(worker: ProducerWorker) -> bool:
        if not left:
            raise TypeError("a defect")
        left.pop()
        return sound(worker)

    monkeypatch.setattr(ProducerWorker, "send_once", defect)
    assert invoke(["run", "smoke/partition", "--seed", "7", "--runs", str(tmp_path)]) == 3

    assert "TypeError: a defect" in capsys.readouterr().err
    folder = find_run(tmp_path, "smoke/partition")
    history = read_history(folder)
    assert [operation.key for operation in history.of("phase")][-3:] == ["final-read", "evidence", "done"]
    assert history.of("harness-failure")
    assert history.observed("metadata-log")
    verdict = load_verdict(folder)
    assert verdict.validity is Validity.UNKNOWN
    assert any("harness-lasted" in reason for reason in verdict.reasons)
    assert "a defect" in (folder / FAILURES_FILE).read_text()
    assert (folder / "report.html").exists()
