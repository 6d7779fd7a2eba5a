"""A nightly in miniature: what .github/workflows does, with two scenarios, two versions and two shards."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.cli import invoke
from harness.plan.presets import PRESETS, Preset, PresetScenario
from harness.vocabulary.version import DEFAULT_VERSION
from results.store.runs import list_runs

pytestmark = pytest.mark.cluster
SCENARIOS = ("exploratory/offsets", "exploratory/txn")
MINIATURE = Preset(
    "Two scenarios.", tuple(PresetScenario(name, duration_s=20) for name in SCENARIOS), controls=()
)
CANDIDATE, BASELINE = DEFAULT_VERSION, "4.3.1"
ASKED = ("--candidate", CANDIDATE, "--baseline", BASELINE, "--preset", "smoke")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The preset is the one thing in which it differs from a real one."""
    monkeypatch.setitem(PRESETS, "smoke", MINIATURE)


def uploaded(store: Path, place: Path) -> None:
    """What an artifact is of a store: its files without the links to the latest runs, added to others'."""
    shutil.copytree(store, place, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("latest"))


def test_two_shards_make_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for shard in ("1/2", "2/2"):
        store = tmp_path / f"machine-{shard[0]}"
        assert invoke(["qualify", *ASKED, "--shard", shard, "--runs", str(store)]) == 0
        assert len(list_runs(store)) == 2, "a pair of runs"
        uploaded(store, tmp_path / "store")
        shutil.rmtree(store)  # runs are found where the artifacts are, not where they were made
    store, report, junit = tmp_path / "store", tmp_path / "report", tmp_path / "junit.xml"
    decision = tmp_path / "decision.md"
    capsys.readouterr()

    reporting = ("--no-run", "--runs", str(store), "--out", str(report), "--step-summary", str(decision))
    code = invoke(["qualify", *ASKED, *reporting, "--json"])
    qualification = json.loads(capsys.readouterr().out)
    # A machine may be too slow for a verdict, and Kafka may not be worse than it was.
    assert code in (0, 2), qualification["reasons"]
    runs = [(run["planned"]["scenario"], run["planned"]["role"]) for run in qualification["runs"]]
    assert sorted(runs) == sorted((name, role) for name in SCENARIOS for role in ("baseline", "candidate"))
    assert all(run["outcome"] for run in qualification["runs"])
    assert {path.suffix for path in report.iterdir()} == {".html", ".json", ".md", ".txt"}
    assert f"**{qualification['decision']}**" in decision.read_text()
    assert decision.read_text().strip() == (report / "qualification.md").read_text().strip()
    assert qualification["spent"]["runs"] == qualification["spent"]["of"] == len(qualification["runs"])
    spent = qualification["spent"]
    # The next cluster starts before a run is over, but loads come one after the other.
    assert 0 < spent["load_ms"] < min(spent["runs_ms"], spent["wall_ms"])

    page = tmp_path / "step.md"
    invoke(["summary", str(store), "--junit", str(junit), "--step-summary", str(page)])
    suites = ET.parse(junit).getroot()  # noqa: S314 - our own
    assert sorted(suite.attrib["name"] for suite in suites) == sorted(SCENARIOS * 2)
    versions = {one.attrib["value"] for one in suites.iterfind(".//property[@name='kafka_version']")}
    assert versions == {CANDIDATE, BASELINE}
    assert "(4 runs)" in page.read_text()

    nights, issues = tmp_path / "nights", tmp_path / "issues"
    comparing = ("--past", str(nights), "--issues", str(issues), "--add", "--json")
    capsys.readouterr()
    assert invoke(["signatures", str(store), *comparing]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert {path.stem for path in issues.iterdir()} == {one["id"] for one in seen}
    assert len(list_runs(nights)) == len(qualification["runs"])
