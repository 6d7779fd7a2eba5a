"""``krucible sensitivity`` with runs that need no cluster: stopped when seen, resumed, and what it writes."""

import json
import threading
from pathlib import Path
from typing import Any

import click
import pytest

from checkers.identity import RunIdentity, encode_identity
from checkers.verdict import Anomaly, Validity, Verdict, result_of
from harness import cli
from harness.cli import running, sensitivity_runs
from harness.errors import KrucibleError
from harness.planning import RunPlan
from harness.runner import Host
from results.measures import Measures, save_measures
from results.store import save_verdict

LATE, EARLY = "commit-not-applied", "min-isr-ignored"
LOST = Anomaly("lost-write", "17 is gone", "What is acknowledged stays.", "KIP-101", time_ns=12_000_000_000)


class FakeRuns:
    """In the place of a single run: leaves what a run leaves."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.reached = "installed reached"
        self.seen: set[str] = set()
        self.failing: set[str] = set()
        self.red_controls = False
        self.cancelled_at = 1_000

    def __call__(self, plan: RunPlan, host: Host, cancelled: threading.Event) -> tuple[Path, Verdict]:
        click.echo("chatter of a run")
        bug = plan.options.seeded_bug or ""
        if bug in self.failing:
            raise KrucibleError("no engine")
        self.done.append((bug, plan.options.seed))
        if len(self.done) == self.cancelled_at:
            cancelled.set()
        folder = host.runs / plan.options.scenario / f"20261122T0100{len(self.done):02}Z-{plan.options.seed}"
        (folder / "nodes" / "n1").mkdir(parents=True)
        (folder / "run.json").write_bytes(encode_identity(identity(plan)))
        words = [*self.reached.split(), *(["triggered 1"] if bug in self.seen else [])] if bug else []
        told = (f"krucible-bug {bug} {what} at 2026-11-22T10:00:00.1Z\n" for what in words)
        (folder / "nodes" / "n1" / "server.log").write_text("".join(told))
        found = [LOST] if bug in self.seen or (not bug and self.red_controls) else []
        verdict = Verdict(Validity.INVALID if found else Validity.VALID, (result_of("log", found),))
        save_verdict(folder, verdict)
        save_measures(folder, Measures(duration_ms=50_000, operations=1, sent_ok=1))
        return folder, verdict


def identity(plan: RunPlan) -> RunIdentity:
    return RunIdentity(
        run="r",
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at="2026-11-22T01:00:00Z",
        reproduce=plan.reproduce,
    )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    made = FakeRuns()
    monkeypatch.setattr(running, "run_one", made)
    monkeypatch.setattr(sensitivity_runs, "require_images", list)
    return made


def measure(*words: str) -> int:
    return cli.invoke(["sensitivity", LATE, EARLY, "--budget", "2x30", *words])


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_bug_that_was_seen_is_not_run_again(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.seen = {EARLY}
    assert measure("--json") == 0
    said = told(capsys)
    by_name = {bug["name"]: bug for bug in said["bugs"]}
    assert [one["ending"] for one in by_name[EARLY]["trials"]] == ["seen"]
    assert by_name[EARLY]["trials"][0]["first"] == {"id": "lost-write", "at_ms": 12_000}
    assert [one["ending"] for one in by_name[LATE]["trials"]] == ["never triggered"] * 2
    bugs = sorted(bug for bug, _seed in fake.done)
    assert bugs == ["", "", "", LATE, LATE, EARLY]
    assert [one["outcome"] for one in said["controls"]] == ["valid"] * 3


def test_what_the_store_holds_is_not_run_again(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.cancelled_at = 3
    assert measure("--json") == 2
    half = told(capsys)
    assert len(fake.done) == 3
    endings = [one["ending"] for bug in half["bugs"] for one in bug["trials"]]
    assert endings.count("not run") >= 2

    fake.cancelled_at = 1_000
    fake.done.clear()
    assert measure("--json") == 0
    assert len(fake.done) == 8 - 2  # the run that was interrupted is done again
    whole = capsys.readouterr().out
    fake.done.clear()
    assert measure("--json") == 0
    assert measure("--json", "--no-run") == 0
    assert capsys.readouterr().out == whole * 2
    assert fake.done == []


def test_a_run_that_failed_is_an_outcome_and_is_tried_again_by_the_same_command(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failing = {LATE}
    assert measure("--json") == 0
    (failed,) = (bug for bug in told(capsys)["bugs"] if bug["name"] == LATE)
    assert [one["ending"] for one in failed["trials"]] == ["harness failed"] * 2
    assert "no engine" in failed["trials"][0]["why"]
    fake.failing = set()
    assert measure("--json") == 0
    assert "harness failed" not in capsys.readouterr().out


def test_a_false_alarm_is_no_success(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.red_controls = True
    assert measure() == 1
    assert "4 false alarms in 4 decided control runs" in capsys.readouterr().out


def test_a_bug_that_no_node_tells_of_was_not_injected(
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
    assert out.read_text().startswith("# Sensitivity on Kafka 4.3.1, nightly runs, budget 2x30\n")
    assert html.read_text().startswith("<!doctype html>")
    assert measure() == 0
    assert capsys.readouterr().out == out.read_text()


def test_a_plan_is_told_and_nothing_is_run(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure("--plan") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "at most 8 runs for 2 bugs"
    assert sum("--seeded-bug" in line for line in lines) == 4
    assert measure("--plan") == 0
    assert capsys.readouterr().out.splitlines() == lines
    assert fake.done == []


@pytest.mark.parametrize("words", [("--budget", "3"), ("--budget", "0x60"), ("--budget", "1x5"), ("nobody",)])
def test_what_makes_no_sense_is_refused(
    fake: FakeRuns, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["sensitivity", *words]) == 64
    assert fake.done == []
    assert capsys.readouterr().err


def test_bugs_that_do_not_fit_a_version_are_left_out_and_told(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fitting = ["sensitivity", "--kafka-version", "3.9.0", "--no-run", "--budget", "1x20", "--json"]
    assert cli.invoke(fitting) == 2
    said = told(capsys)
    names = {bug["name"] for bug in said["bugs"]}
    assert "compaction-drops-latest" in said["withheld"]
    assert names.isdisjoint(said["withheld"])
    assert fake.done == []
