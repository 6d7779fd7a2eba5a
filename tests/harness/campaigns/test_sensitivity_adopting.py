"""``krucible sensitivity --adopt``: runs with seeded bugs that no plan made become outcomes."""

import json
import threading
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import decode_identity, encode_identity
from harness import cli
from harness.campaigns.series import Venue
from harness.plan.planning import RunOptions, plan_run
from results.sensitivity import BugOutcome
from results.sensitivity.outcomes import Outcomes, decode_outcomes
from tests.harness.fakes.measured_runs import FakeRuns

LATE, EARLY = "commit-not-applied", "min-isr-ignored"


@pytest.fixture
def fake() -> FakeRuns:
    return FakeRuns()


def make(fake: FakeRuns, runs: Path, bug: str | None, seed: int, duration_s: int = 30) -> Path:
    asked = RunOptions(
        scenario="exploratory/offsets",
        seed=seed,
        duration_s=duration_s,
        seeded_bug=bug,
        kafka_version="4.3.1",
    )
    return fake(plan_run(asked), Venue(runs=runs), threading.Event())[0]


def adopt(tmp_path: Path, *words: str) -> Outcomes:
    target = tmp_path / "by-hand.json"
    asked = ["sensitivity", "--adopt", "hand", "--budget", "2x30", "--runs", str(tmp_path / "runs")]
    assert cli.invoke([*asked, "--outcomes", str(target), "--json", *words]) in (0, 1, 2)
    return decode_outcomes(target.read_bytes())


def test_runs_become_tries_in_their_order_up_to_the_one_that_saw_the_bug(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    make(fake, runs, LATE, 7)
    make(fake, runs, None, 7)
    fake.seen = {LATE}
    make(fake, runs, LATE, 5)
    make(fake, runs, LATE, 9)
    capsys.readouterr()
    found = adopt(tmp_path)
    assert [line.place for line in found.runs] == [(LATE, 1, False), (LATE, 1, True), (LATE, 2, False)]
    assert [line.ending for line in found.runs if not line.control] == ["never triggered", "seen"]
    assert ["--seed 7" in line.command for line in found.runs] == [True, True, False]
    assert (found.series, found.asked.preset, found.runs[0].mode) == ("by-hand", "hand", "combined")
    report = json.loads(capsys.readouterr().out)
    (bug,) = (bug for bug in report["bugs"] if bug["name"] == LATE)
    assert [trial["ending"] for trial in bug["trials"]] == ["never triggered", "seen"]
    assert [one["outcome"] for one in report["controls"]] == ["valid", None]


def test_what_is_no_try_is_reported_and_left_out(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    make(fake, runs, EARLY, 1, duration_s=40)
    changed = make(fake, runs, EARLY, 2)
    (changed / "seeded-bug.btm").write_text("RULE other")
    make(fake, runs, EARLY, 3)
    make(fake, runs, EARLY, 3)
    elsewhere = make(fake, runs, EARLY, 4)
    of = decode_identity((elsewhere / "run.json").read_bytes())
    (elsewhere / "run.json").write_bytes(encode_identity(msgspec.structs.replace(of, kafka_version="4.1.1")))
    found = adopt(tmp_path)
    assert [line.command.split()[4] for line in found.runs] == ["3"]
    whys = [line.split(" ", 3)[3] for line in capsys.readouterr().err.splitlines()]
    assert whys == [
        "is of another duration",
        "is of a bug whose file has changed since",
        "repeats another one",
        "is of Kafka 4.1.1",
    ]


def test_a_run_of_options_that_nobody_knows_is_an_error(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make(fake, tmp_path / "runs", EARLY, 3)
    of = decode_identity((folder / "run.json").read_bytes())
    odd = msgspec.structs.replace(of, options=of.options | {"seed": "three"})
    (folder / "run.json").write_bytes(encode_identity(odd))
    asked = ["sensitivity", "--adopt", "hand", "--budget", "1x30", "--runs", str(tmp_path / "runs")]
    assert cli.invoke(asked) == 3
    assert str(folder) in capsys.readouterr().err


def test_a_scenario_that_is_gone_is_no_hindrance(fake: FakeRuns, tmp_path: Path) -> None:
    folder = make(fake, tmp_path / "runs", EARLY, 3)
    of = decode_identity((folder / "run.json").read_bytes())
    gone = msgspec.structs.replace(of, scenario="gone/away", options=of.options | {"scenario": "gone/away"})
    (folder / "run.json").write_bytes(encode_identity(gone))
    (line,) = adopt(tmp_path, EARLY).runs
    assert (line.scenario, line.mode, line.ending) == ("gone/away", "", BugOutcome.NEVER_TRIGGERED)
