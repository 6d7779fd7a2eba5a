"""``krucible check`` and ``krucible report`` of a run that another commit recorded."""

import json
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity
from harness import cli
from harness.run import own_identity
from results.store.judges import load_judge
from tests.harness.recorded_run import a_verdict, planned, store_run

RECORDER, OTHER = "123456789abc", "ba9876543210-dirty"
JUDGED_AGAIN = f"krucible   judged again by {OTHER}, recorded by {RECORDER}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "smoke/partition" / "20261122T010000Z-7"
    return store_run(folder, planned("smoke/partition"), a_verdict(Validity.VALID), ())


@pytest.mark.parametrize(("commit", "times"), [(OTHER, 1), (RECORDER, 0), ("", 0)])
def test_a_check_keeps_and_says_who_judged_again(
    folder: Path,
    commit: str,
    times: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert load_judge(folder).commit == ""
    monkeypatch.setattr(own_identity, "commit", lambda: commit)
    assert cli.invoke(["check", str(folder)]) == 2
    assert capsys.readouterr().out.count(JUDGED_AGAIN) == times
    assert json.loads((folder / "verdict.json").read_text())["judged_by"].get("commit", "") == commit
    assert load_judge(folder).version
    assert (folder / "report.html").read_text().count("Judged again by") == times


def test_a_report_says_it_and_leaves_the_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "verdict.json").read_bytes()
    monkeypatch.setattr(own_identity, "commit", lambda: OTHER)
    assert cli.invoke(["report", str(folder)]) == 0
    assert "Judged again by" in (folder / "report.html").read_text()
    assert (folder / "verdict.json").read_bytes() == before


def test_json_names_the_report_and_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["report", str(folder), "--json"]) == 0
    page = folder / "report.html"
    assert json.loads(capsys.readouterr().out) == {
        "run": str(folder),
        "report": str(page),
        "validity": "unknown",
    }
    assert page.is_file()
