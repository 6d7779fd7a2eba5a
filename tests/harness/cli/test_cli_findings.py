"""`krucible findings` lists what was found, and prints a ticket."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import harness.cli.findings.findings
from harness.cli import invoke
from harness.cli.findings.findings import PAGE, complete_finding, findings_command
from results.findings.page import read_findings

NAMES = [each.name for each in read_findings(PAGE.read_text())]


def test_every_finding_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["findings", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == NAMES
    first = "    4.3.1, dynamic quorum, in two random runs; 4.4.0, every time, by the steps below"
    assert first in lines, "the first sentence alone"


def test_the_list_is_there_for_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["findings", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == NAMES
    assert all(each["title"] and each["component"] for each in listed)
    assert [each["name"] for each in listed if not re.match(r"\d\.\d+\.\d\b", each["versions"])] == []


@pytest.mark.parametrize(("words", "heading"), [((), "h1. "), (("--format", "markdown"), "# ")])
def test_a_finding_is_printed(
    words: tuple[str, ...], heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["findings", "export", "formatting-does-not-sync", *words]) == 0
    assert capsys.readouterr().out.startswith(f"{heading}Formatting does not sync\n")


def test_json_of_a_finding_has_the_title_apart_from_the_body(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["findings", "export", "formatting-does-not-sync"]
    assert invoke(words) == 0
    body = capsys.readouterr().out.split("\n\n", 1)[1]
    assert invoke([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "formatting-does-not-sync",
        "format": "jira",
        "title": "Formatting does not sync",
        "body": body,
    }


def test_an_unknown_finding_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["findings", "export", "no-such"]) == 64
    stderr = capsys.readouterr().err
    assert "got:      no-such" in stderr
    assert f"expected: {' or '.join(NAMES)}\n" in stderr


@pytest.mark.parametrize("name", ["uncommitted-listing", "an-uncomitted-listing"])
def test_a_mistyped_finding_is_answered_by_the_nearest(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["findings", "export", name]) == 64
    assert "expected: an-uncommitted-listing\n" in capsys.readouterr().err


def test_names_are_completed() -> None:
    export = findings_command.commands["export"]
    found = complete_finding(export.make_context("export", [NAMES[0]]), export.params[0], "formatting")
    assert [item.value for item in found] == ["formatting-does-not-sync"]


def test_a_missing_page_of_findings_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.cli.findings.findings, "PAGE", tmp_path / "findings.md")
    ran = CliRunner().invoke(findings_command, ["list"])
    assert "the page of findings is not here" in str(ran.exception)
    assert invoke(["findings", "list"]) == 3


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("| versions |", "| version |"), "missing or unknown: versions"),
        (("| observed | `kafka-storage", "| observed | <b>`kafka-storage"), "html_inline within a line"),
    ],
)
def test_a_page_that_can_not_be_read_is_reported(
    change: tuple[str, str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "findings.md"
    page.write_text(PAGE.read_text().replace(*change))
    monkeypatch.setattr(harness.cli.findings.findings, "PAGE", page)
    assert invoke(["findings", "export", "formatting-does-not-sync"]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert what in output.err
    assert "git checkout docs/findings.md" in output.err
