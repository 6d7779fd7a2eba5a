"""``krucible sensitivity`` with runs that need no cluster: stopped when seen, resumed, and what it writes."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import cli
from harness.campaigns import making as running
from harness.campaigns.hosting import measurements
from harness.campaigns.sensitivity import runs as sensitivity_runs
from harness.cli.campaigns import sensitivity as command
from harness.seeded_bugs import catalogue
from harness.seeded_bugs.catalogue import BUGS_VERSION
from tests.harness.fakes.hosts import MASTER, FakeHosts
from tests.harness.fakes.measured_runs import FakeRuns

LATE, EARLY = "commit-not-applied", "min-isr-ignored"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    made = FakeRuns()
    monkeypatch.setattr(running, "run_one", made)
    monkeypatch.setattr(sensitivity_runs, "require_images", list)
    return made


def measure(*words: str) -> int:
    return cli.invoke(["sensitivity", LATE, EARLY, "--budget", "2x30", *words])


def printed_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_bug_that_was_seen_is_not_run_again(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.seen = {EARLY}
    assert measure("--json") == 0
    report = printed_json(capsys)
    by_name = {bug["name"]: bug for bug in report["bugs"]}
    assert [one["ending"] for one in by_name[EARLY]["trials"]] == ["seen"]
    assert by_name[EARLY]["trials"][0]["found"] == [{"id": "acked-below-min-isr", "at_ms": 12_000}]
    assert [one["ending"] for one in by_name[LATE]["trials"]] == ["never triggered"] * 2
    bugs = sorted(bug for bug, _seed in fake.done)
    assert bugs == ["", "", "", LATE, LATE, EARLY]
    assert [one["outcome"] for one in report["controls"]] == ["valid"] * 3


def test_what_the_store_holds_is_not_run_again(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.cancelled_at = 3
    assert measure("--json") == 2
    half = printed_json(capsys)
    assert len(fake.done) == 3
    endings = [one["ending"] for bug in half["bugs"] for one in bug["trials"]]
    assert endings.count("not run") >= 2

    fake.cancelled_at = 1_000
    assert measure("--json") == 0
    assert len(fake.done) == 8 + 1  # the run that was interrupted is done again
    whole = capsys.readouterr().out
    assert measure("--json") == 0
    assert measure("--json", "--no-run") == 0
    assert capsys.readouterr().out == whole * 2
    assert len(fake.done) == 8 + 1


def test_controls_can_be_made_alone(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure("--json", "--controls", "only") == 0
    assert [bug for bug, _seed in fake.done] == [""] * 4
    report = printed_json(capsys)
    assert [one["outcome"] for one in report["controls"]] == ["valid"] * 4
    assert {one["ending"] for bug in report["bugs"] for one in bug["trials"]} == {"not run"}
    assert measure("--json", "--controls", "after", "--no-run") == 2


def test_a_run_that_failed_is_an_outcome_and_is_tried_again_by_the_same_command(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failing = {LATE}
    assert measure("--json") == 0
    (failed,) = (bug for bug in printed_json(capsys)["bugs"] if bug["name"] == LATE)
    assert [one["ending"] for one in failed["trials"]] == ["harness failed"] * 2
    assert "no engine" in failed["trials"][0]["why"]
    fake.failing = set()
    assert measure("--json") == 0
    assert "harness failed" not in capsys.readouterr().out


def test_a_false_alarm_is_no_success(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.red_controls = True
    assert measure() == 1
    assert "4 false alarms in 4 decided control runs" in capsys.readouterr().out


def test_a_bug_that_no_node_reports_was_not_injected(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reached = ""
    assert measure() == 0
    assert capsys.readouterr().out.count("not injected") == 2 + 2 * 4 + 4  # bugs, what to look at twice, runs


def test_both_pages_are_written(fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, html = tmp_path / "docs" / "s.md", tmp_path / "s.html"
    assert measure("--out", str(out), "--html", str(html)) == 0
    assert fake.done
    captured = capsys.readouterr()
    assert captured.out.startswith("Seen: 0 of 2, 0 %")
    assert captured.out.endswith(f"page  {out}\n")
    assert "chatter" in captured.err
    assert out.read_text().startswith(f"# Sensitivity on Kafka {BUGS_VERSION}, nightly runs, budget 2x30\n")
    assert html.read_text().startswith("<!doctype html>")
    assert measure() == 0
    assert capsys.readouterr().out == out.read_text()


def test_a_plan_is_printed_and_nothing_is_run(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure("--plan") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "at most 8 runs for 2 bugs"
    assert sum("--seeded-bug" in line for line in lines) == 4
    assert sum(f"--kafka-version {BUGS_VERSION} " in line for line in lines) == 8
    assert measure("--plan") == 0
    assert capsys.readouterr().out.splitlines() == lines
    assert fake.done == []
    fake.cancelled_at = 3
    assert measure("--controls", "after") == 2
    capsys.readouterr()
    assert measure("--plan", "--controls", "none") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "at most 2 runs for 2 bugs"


def test_controls_are_made_after_the_others_or_left_for_later(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure("--controls", "none", "--json") == 2
    assert all(bug for bug, _seed in fake.done)
    assert [one["outcome"] for one in printed_json(capsys)["controls"]] == [None] * 4
    assert measure("--controls", "after", "--json") == 0
    assert [bug for bug, _seed in fake.done[4:]] == [""] * 4
    assert [one["outcome"] for one in printed_json(capsys)["controls"]] == ["valid"] * 4


def test_no_run_begins_after_the_time_that_was_given(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 60.0 * len(fake.done))
    assert measure("--for", "2m") == 2
    assert len(fake.done) == 2
    assert "the time is used up; the same command continues" in capsys.readouterr().err
    assert measure("--for", "1h") == 0
    assert len(fake.done) == 8


def test_areas_are_chosen_beside_bugs(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["sensitivity", EARLY, "--area", "voters", "--area", "recovery", "--budget", "1x20"]
    assert cli.invoke([*asked, "--no-run", "--json"]) == 2
    bugs = printed_json(capsys)["bugs"]
    assert {bug["area"] for bug in bugs} == {"recovery", "replication", "voters"}
    assert [bug["name"] for bug in bugs if bug["area"] == "replication"] == [EARLY]
    assert fake.done == []


@pytest.mark.parametrize("words", [("--budget", "3"), ("--budget", "0x60"), ("--budget", "1x5"), ("nobody",)])
def test_what_makes_no_sense_is_refused(
    fake: FakeRuns, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["sensitivity", *words]) == 64
    assert fake.done == []
    assert capsys.readouterr().err


def test_bugs_that_do_not_fit_a_version_are_left_out_and_reported(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fitting = ["sensitivity", "--kafka-version", "3.9.0", "--no-run", "--budget", "1x20", "--json"]
    assert cli.invoke(fitting) == 2
    report = printed_json(capsys)
    names = {bug["name"] for bug in report["bugs"]}
    assert "compaction-drops-latest" in report["withheld"]
    assert names.isdisjoint(report["withheld"])
    assert fake.done == []


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A catalogue with another bug, which needs share groups."""
    folder, name = tmp_path / "bugs", "share-forgets"
    shutil.copytree(Path(catalogue.__file__).parents[2] / "scenarios" / "seeded_bugs", folder)
    text = (folder / "groups" / f"{LATE}.btm").read_text()
    words = re.sub("(?m)^# workloads: .*$", "# workloads: share", text)
    (folder / "groups" / f"{name}.btm").write_text(words)
    monkeypatch.setattr(catalogue, "_FOLDER", str(folder))
    catalogue.seeded_bugs.cache_clear()
    yield name
    catalogue.seeded_bugs.cache_clear()


def test_runs_that_need_java_are_missing_on_a_host_without_it(
    fake: FakeRuns, sharing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "java_missing", lambda: "java is not installed")
    wanted = ["sensitivity", sharing, EARLY, "--budget", "1x30"]
    assert cli.invoke([*wanted, "--plan"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "at most 4 runs for 2 bugs"
    assert printed.out.count("krucible run exploratory/share ") == 2
    assert f"not made on this host (java is not installed): {sharing}\n" in printed.err
    assert cli.invoke(wanted) == 2
    printed = capsys.readouterr()
    why = "need kafka-clients, which this host does not offer (java is not installed): share-forgets."
    assert why in printed.out
    assert why in printed.err
    assert {bug for bug, _seed in fake.done} == {"", EARLY}

    monkeypatch.setattr(command, "java_missing", lambda: None)
    assert cli.invoke(wanted) == 0
    assert "kafka-clients" not in "".join(capsys.readouterr())
    assert {bug for bug, _seed in fake.done} == {"", EARLY, sharing}
    monkeypatch.setattr(command, "java_missing", lambda: "java is not installed")
    assert cli.invoke(wanted) == 0  # what another host made counts


def test_hosts_see_what_a_measurement_here_sees(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.seen = {EARLY}
    assert measure("--json", "--runs", str(tmp_path / "here")) == 0
    here, ran = capsys.readouterr().out, sorted(fake.done)
    fake.done.clear()
    hosts = FakeHosts({"a": fake.on_host, "b": fake.on_host})
    hosts.stand_in(monkeypatch)
    assert measure("--json", "--master", MASTER) == 0
    there = capsys.readouterr()
    assert without_folders(there.out) == without_folders(here)
    assert sorted(fake.done) == ran  # the second try of a bug waits for the first
    assert "hosts      2 of 2 hosts can do runs" in there.err
    assert measure("--json", "--master", MASTER) == 0
    assert len(fake.done) == len(ran)


def without_folders(text: str) -> Any:
    """What was seen, folders aside."""
    found = json.loads(text)
    for one in [*found["controls"], *(trial for bug in found["bugs"] for trial in bug["trials"])]:
        one["folder"] = ""
    return found


def test_hosts_that_fail_are_outcomes(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failing = {LATE}
    FakeHosts({"a": fake.on_host}).stand_in(monkeypatch)
    assert measure("--json", "--master", MASTER) == 0
    (failed,) = (bug for bug in printed_json(capsys)["bugs"] if bug["name"] == LATE)
    assert [one["ending"] for one in failed["trials"]] == ["harness failed"] * 2


def test_no_host_begins_a_run_after_the_time_that_was_given(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeHosts({"a": fake.on_host}).stand_in(monkeypatch)
    monkeypatch.setattr(measurements, "monotonic", lambda: 60.0 * len(fake.done))
    assert measure("--for", "2m", "--master", MASTER) == 2
    assert len(fake.done) == 2
