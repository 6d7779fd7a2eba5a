"""What is listed: a line for each scenario and run, of those that were asked for."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.verdict.verdict import CheckerResult, Validity, Verdict
from harness import cli
from harness.cli.runs import listing
from harness.plan.catalogue import scenario_names
from results.store.runs import find_run, save_verdict
from tests.results.story import IDENTITY

RED = "smoke/partition/20261120T215657Z-901"
GREEN = "exploratory/chaos/20261121T000000Z-17"
CUT = "smoke/partition/20261119T101500Z-7"
DEEP = f"qualification/{'x' * 60}/20261118T101500Z-5"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "runs"
    monkeypatch.setenv("KRUCIBLE_RUNS", str(root))
    for place, validity in ((RED, Validity.INVALID), (GREEN, Validity.VALID), (DEEP, Validity.UNKNOWN)):
        folder = root / place
        folder.mkdir(parents=True)
        identity = replace(IDENTITY, scenario=place.rpartition("/")[0], kafka_version="4.3.1")
        (folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
        counts = {"lost-write": 3, "offset-gap": 12} if validity is Validity.INVALID else {}
        save_verdict(folder, Verdict(validity, (CheckerResult("log", validity, counts=counts),)))
    (root / CUT).mkdir(parents=True)
    return root


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns; without it, the output is a pipe."""
    monkeypatch.setattr(listing, "_columns", lambda: 80)


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.invoke(["list", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("runs")
def test_what_is_piped_is_not_cut_and_has_illegal_anomalies_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, "--limit", "9")
    assert lines[1] == f"invalid   4.3.1  {RED}           lost-write 3, offset-gap 12"


@pytest.mark.usefixtures("runs", "terminal")
def test_a_run_is_a_line_with_a_name_that_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "--limit", "9") == [
        f"valid     4.3.1  {GREEN}",
        f"invalid   4.3.1  {RED}           lost-write 3, o…",
        f"unjudged  ?      {CUT}",
        f"unknown   4.3.1  {DEEP}",
    ]


@pytest.mark.usefixtures("terminal")
def test_a_scenario_is_a_line_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, "--scenarios")
    assert [line.split()[0] for line in lines] == list(scenario_names())
    assert max(map(len, lines)) == 80
    assert all(len(line.split(maxsplit=1)[1]) > 20 for line in lines)


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["--limit", "2"], [GREEN, RED]),
        (["--verdict", "invalid"], [RED]),
        (["--verdict", "invalid", "--verdict", "unjudged"], [RED, CUT]),
        (["--verdict", "unknown", "--limit", "1"], [DEEP]),
        (["--verdict", "valid", "--scenario", "smoke"], []),
        (["--limit", "1", "--scenario", "smoke/partition"], [RED]),
    ],
)
def test_runs_are_those_that_were_asked_for_by_names_that_are_taken_back(
    runs: Path, words: list[str], places: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [line.split()[2] for line in listed(capsys, *words)]
    assert names == places
    assert [find_run(runs, name) for name in names] == [(runs / place).resolve() for place in places]
    assert cli.invoke(["list", "--json", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert ([run["name"] for run in document["runs"]], document["scenarios"]) == (places, [])


@pytest.mark.usefixtures("runs")
def test_a_folder_is_named_with_or_without_a_slash(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "--scenario", "smoke/") == listed(capsys, "--scenario", "smoke")


@pytest.mark.usefixtures("runs")
def test_a_scenario_is_listed_with_its_runs(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, empty, red, cut = listed(capsys, "--scenario", "smoke/partition")
    assert scenario.startswith("smoke/partition  Cut the active controller off")
    assert (empty, red.split()[2], cut.split()[2]) == ("", RED, CUT)
    folder = listed(capsys, "--scenario", "kips", "--scenarios")
    assert folder
    assert all(line.startswith("kips/") for line in folder)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--scenario", "smoke/partitoin"], "expected: smoke/partition"),
        (["--scenario", "smok"], "there is no scenario 'smok'"),
        (["--limit", "0"], "--limit with a whole number from 1"),
        (["--verdict", "red"], "'unjudged'"),
        (["--verdict", "valid", "--scenarios"], "--verdict and --scenarios exclude each other"),
        (["--limit", "1", "--markdown"], "--limit and --markdown exclude each other"),
        (["--scenario", "smoke", "--markdown"], "--scenario and --markdown exclude each other"),
    ],
)
def test_what_can_not_be_listed_is_refused(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["list", *words]) == 64
    assert expected in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_anomalies_behind_a_long_name_are_left_out(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"lost-write": 3}
    red = Verdict(Validity.INVALID, (CheckerResult("log", Validity.INVALID, counts=counts),))
    save_verdict(runs / DEEP, red)
    assert listed(capsys, "--limit", "1", "--scenario", "qualification") == [f"invalid   4.3.1  {DEEP}"]


@pytest.mark.parametrize("words", [["list"], ["list", "--verdict", "valid"], ["list", "--json"]])
def test_a_store_that_was_named_must_be_there(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "is missing"
    assert cli.invoke([*words, "--runs", str(missing)]) == 64
    shown = capsys.readouterr()
    assert (shown.out, "there is no such folder of runs" in shown.err) == ("", True)
    assert f"got:      {missing}" in shown.err
    assert "expected: a folder that holds runs" in shown.err
    assert f"krucible run smoke/partition --runs '{missing}'" in shown.err


def test_scenarios_need_no_store(tmp_path: Path) -> None:
    assert cli.invoke(["list", "--scenarios", "--runs", str(tmp_path / "missing")]) == 0


@pytest.mark.usefixtures("runs")
def test_a_store_that_nobody_named_may_be_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KRUCIBLE_RUNS")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").rename(tmp_path / "moved")
    assert listed(capsys, "--verdict", "valid") == []


@pytest.mark.parametrize("words", [["report", "nobody"], ["check", "nobody"], ["issue", "nobody"]])
def test_an_unknown_run_is_reported_with_the_command_that_lists_the_store(
    words: list[str], runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(runs.parent)
    for place, command in (("a store", "krucible list --runs 'a store'"), ("runs", "krucible list")):
        assert cli.invoke([*words, "--runs", place]) == 64
        assert capsys.readouterr().err.splitlines()[-1] == f"  next:     {command}"


def test_a_store_without_runs_is_reported_with_the_command_that_makes_one(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = runs.parent / "empty"
    empty.mkdir()
    words = ["--runs", str(empty)]
    assert cli.invoke(["list", "--limit", "3", *words]) == 0
    assert capsys.readouterr().err == f"runs  none in {empty}\n"
    assert cli.invoke(["list", "--verdict", "valid", "--scenario", "smoke/partition", *words]) == 0
    assert capsys.readouterr().err == f"runs  none in {empty} of smoke/partition with verdict valid\n"
    assert cli.invoke(["check", *words]) == 64
    stderr = capsys.readouterr().err
    assert "no run is called 'latest': there are no runs yet" in stderr
    assert f"next:     make a run: krucible run smoke/partition --runs {empty};" in stderr
