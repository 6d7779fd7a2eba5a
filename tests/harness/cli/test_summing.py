"""``krucible summary`` over stored runs, whole and broken."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.verdict.verdict import Validity, Verdict
from harness.cli import invoke
from harness.cli.findings.summary import summary
from harness.errors import KrucibleError, UsageError
from results.store.runs import save_verdict
from tests.results.story import IDENTITY


def store(folder: Path) -> Path:
    whole = folder / "smoke" / "20261121T182308Z-1"
    broken = folder / "other" / "20261121T182309Z-2"
    for run in (whole, broken):
        run.mkdir(parents=True)
        (run / IDENTITY_FILE).write_bytes(encode_identity(IDENTITY))
    save_verdict(whole, Verdict(Validity.VALID, (), Validity.VALID, (), as_expected=True))
    return folder


def test_every_run_below_the_folders_is_summed_up_once(tmp_path: Path) -> None:
    runs = store(tmp_path / "runs")
    out = tmp_path / "page.md"
    result = CliRunner().invoke(summary, [str(runs), str(runs / "smoke"), "--out", str(out)])
    assert result.exit_code == 3
    assert "2 runs, of which 1 failed, 1 valid" in out.read_text()


def test_a_single_run_as_json(tmp_path: Path) -> None:
    runs = store(tmp_path / "runs")
    result = CliRunner().invoke(summary, [str(runs / "smoke" / "20261121T182308Z-1"), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["counts"]["valid"] == 1


def test_a_link_to_a_run_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As runs/latest is one, and where a run is the present folder."""
    runs = store(tmp_path / "runs")
    whole = runs / "smoke" / "20261121T182308Z-1"
    (runs / "latest").symlink_to("smoke/20261121T182308Z-1")
    monkeypatch.chdir(whole)
    pages = [
        CliRunner().invoke(summary, [str(name), "--html", str(tmp_path / "page.html")])
        for name in (whole, runs / "latest", ".")
    ]
    assert [page.exit_code for page in pages] == [0, 0, 0]
    assert "1 run, of which 1 valid" in pages[0].output
    assert pages[0].output == pages[1].output == pages[2].output
    together = CliRunner().invoke(summary, [str(runs / "latest"), str(runs), str(runs / "nowhere")])
    assert "2 runs, of which 1 failed, 1 valid" in together.output


def test_nothing_to_sum_up(tmp_path: Path) -> None:
    result = CliRunner().invoke(summary, [str(tmp_path)])
    assert isinstance(result.exception, UsageError)


def test_ci_gets_one_junit_file_and_a_step_summary(tmp_path: Path) -> None:
    runs = store(tmp_path / "runs")
    junit, page = tmp_path / "junit.xml", tmp_path / "step.md"
    result = CliRunner().invoke(summary, [str(runs), "--junit", str(junit), "--step-summary", str(page)])
    assert result.exit_code == 3
    suites = ET.parse(junit).getroot()  # noqa: S314 - our own
    assert [suite.attrib["errors"] for suite in suites] == ["1", "0"]
    assert "**❌ 1 Failed** (2 runs)" in page.read_text()


def test_a_place_that_can_not_be_written_is_reported(tmp_path: Path) -> None:
    runs = store(tmp_path / "runs")
    result = CliRunner().invoke(summary, [str(runs), "--junit", str(tmp_path / "no" / "junit.xml")])
    assert isinstance(result.exception, KrucibleError)


def test_a_campaign_writes_the_summary_of_the_job_that_it_is_part_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise KrucibleError("no engine")

    page = tmp_path / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    monkeypatch.setattr("harness.campaigns.making.run_one", refuse)
    assert invoke(["run", "smoke/partition", "--seeds", "1..2", "--runs", str(tmp_path)]) == 3
    assert page.read_text().startswith("## krucible run smoke/partition --seeds 1..2\n")
    assert "**❌ 2 Failed** (2 runs)" in page.read_text()
