"""``krucible issue``: a stored run as a text for a tracker."""

import json
from pathlib import Path

import pytest

from harness import cli
from results.run.issue import ISSUE_FILE
from results.store.runs import VERDICT_FILE
from tests.harness.fakes.runs import RED, stored


@pytest.fixture
def red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    return stored(tmp_path / "runs", RED)


def test_a_run_is_printed_in_the_markup_that_was_asked_for(
    red: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["issue", str(red)]) == 0
    assert capsys.readouterr().out.startswith("# `zombie-leader` in `")
    assert cli.invoke(["issue", "latest", "--format", "jira"]) == 0
    assert capsys.readouterr().out.startswith("h1. {{zombie-leader}} in {{")
    assert cli.invoke(["issue", str(red), "--format", "html"]) == 64


def test_it_is_written_to_a_file(red: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["issue", str(red)]) == 0
    printed, out = capsys.readouterr().out, tmp_path / ISSUE_FILE
    assert cli.invoke(["issue", str(red), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"issue  {out}\n"
    assert out.read_text() == printed


def test_a_run_without_a_verdict_is_judged(red: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (red / VERDICT_FILE).unlink()
    assert cli.invoke(["issue", str(red)]) == 0
    assert capsys.readouterr().out.startswith("# verdict ")


@pytest.mark.parametrize("markup", ["markdown", "jira"])
def test_json_has_the_title_apart_from_the_body(
    red: Path, tmp_path: Path, markup: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, out = ["issue", str(red), "--format", markup], tmp_path / "issue.json"
    assert cli.invoke(words) == 0
    heading, body = capsys.readouterr().out.split("\n\n", 1)
    assert cli.invoke([*words, "--json"]) == 0
    printed = capsys.readouterr().out
    value = json.loads(printed)
    assert heading in (f"# {value['title']}", f"h1. {value['title']}")
    assert value == {"run": str(red), "format": markup, "title": value["title"], "body": body}
    assert cli.invoke([*words, "--json", "--out", str(out)]) == 0
    assert out.read_text() == printed
