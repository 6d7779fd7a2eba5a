"""``krucible qualify`` with runs that need no cluster: resumed, sharded, merged, and what it writes."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import click
import pytest

from checkers.history.identity import RunIdentity, encode_identity
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from harness import cli
from harness.campaigns import exits
from harness.campaigns import making as running
from harness.campaigns.series import Venue
from harness.cli.campaigns import qualify as qualifying
from harness.cli.runs import rerun
from harness.errors import KrucibleError, UsageError
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunPlan
from harness.plan.presets import PRESETS, Preset, PresetScenario
from harness.vocabulary.topology import Mode
from results.campaigns.step_summary import BYTES_MAX
from results.run.measures import FaultMeasures, Measures, save_measures
from results.store.runs import save_verdict

LOST = Anomaly("lost-write", "17 is gone", "What is acknowledged stays.", "KIP-101")
TINY = Preset(
    "Three seeds, and a known bug.",
    (PresetScenario("exploratory/txn", (Mode.COMBINED,), 3, 30),),
    controls=("KAFKA-15489",),
    required=("elections",),
)
RUNS = 8
"""Of `TINY` with a baseline: two of the control, three of each side."""


class FakeRuns:
    """In the place of a single run: leaves what a run leaves."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, int]] = []
        self.red: set[tuple[str, int]] = set()
        self.failing: set[tuple[str, int]] = set()
        self.killed_at = self.cancelled_at = 1_000

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        click.echo("chatter of a run")
        key = (plan.version, plan.options.seed)
        if key in self.failing:
            raise KrucibleError("no engine")
        folder = venue.runs / plan.options.scenario / f"20261122T0100{len(self.done):02}Z-{key[1]}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes(encode_identity(identity(plan)))
        self.done.append((plan.options.scenario, *key))
        if len(self.done) == self.killed_at:
            raise KeyboardInterrupt
        if len(self.done) == self.cancelled_at:
            cancelled.set()
        found = [LOST] if key in self.red else [Anomaly(i, "s", "g", "s") for i in plan.expectation.anomalies]
        expected = plan.expectation.validity
        validity = Validity.INVALID if found else Validity.VALID
        verdict = Verdict(
            validity, (result_of("log", found),), expected=expected, as_expected=validity is expected
        )
        save_verdict(folder, verdict)
        save_measures(folder, MEASURES)
        return folder, verdict


MEASURES = Measures(
    duration_ms=30_000,
    operations=500,
    sent_ok=400,
    faults=(FaultMeasures(id="f1", kind="kill", proven=True, unavailable_ms_max=4_000),),
    recovered=True,
    recovery_ms=150,
    coverage={"elections": 2},
)


def identity(plan: RunPlan) -> RunIdentity:
    return RunIdentity(
        run="r",
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at="2026-11-22T01:00:00Z",
        reproduce=plan.reproduce,
        options={
            "kafka_version": plan.version,
            "scenario": plan.options.scenario,
            "seed": plan.options.seed,
            "duration_s": plan.options.duration_s,
            "mode": plan.options.mode,
        },
    )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setitem(PRESETS, "smoke", TINY)
    made = FakeRuns()
    monkeypatch.setattr(running, "run_one", made)
    monkeypatch.setattr(qualifying, "require_images", list)
    return made


def qualify(*words: str) -> int:
    return cli.invoke(["qualify", "--candidate", "4.3.1", "--baseline", "4.1.1", *words])


def forms(folder: Path) -> dict[str, str]:
    return {path.suffix: path.read_text() for path in folder.iterdir()}


def test_a_qualification_from_end_to_end(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    assert qualify("--out", str(out)) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("QUALIFIED: Kafka 4.3.1 against 4.1.1, preset smoke, 2026-11-22\n")
    assert captured.out.endswith(f"report  {out / 'qualification.html'}\n")
    assert "chatter" not in captured.out
    assert captured.err.count("chatter of a run") == RUNS
    assert [version for _scenario, version, _seed in fake.done] == ["3.6.2", "3.7.1", *["4.3.1", "4.1.1"] * 3]
    written = forms(out)
    assert written.keys() == {".html", ".md", ".json", ".txt"}
    assert captured.out.startswith(written[".txt"])

    assert qualify("--out", str(out), "--json") == 0
    assert len(fake.done) == RUNS
    assert capsys.readouterr().out == written[".json"]
    assert forms(out) == written


def test_a_step_summary_gets_the_page_behind_what_is_there(fake: FakeRuns, tmp_path: Path) -> None:
    page, out = tmp_path / "step.md", tmp_path / "report"
    page.write_text("before\n\n")
    assert qualify("--out", str(out), "--step-summary", str(page)) == 0
    assert len(fake.done) == RUNS
    assert page.read_text() == "before\n\n" + forms(out)[".md"] + "\n"
    assert "**QUALIFIED**" in page.read_text()


def test_a_page_too_large_for_a_step_is_cut_and_says_where_all_of_it_is(
    fake: FakeRuns, tmp_path: Path
) -> None:
    page = tmp_path / "step.md"
    page.write_bytes(b"x" * (BYTES_MAX - 2_000))
    assert qualify("--step-summary", str(page)) == 0
    assert len(fake.done) == RUNS
    assert page.stat().st_size <= BYTES_MAX
    assert "All of it: `qualification.md` of the report." in page.read_text()


def test_a_step_summary_that_can_not_be_written_is_reported(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify("--step-summary", str(tmp_path / "nowhere" / "step.md")) == 3
    assert len(fake.done) == RUNS
    assert "the operating system refused" in capsys.readouterr().err


def test_what_is_red_on_the_candidate_alone_is_not_qualified(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.red = {("4.3.1", 2)}
    assert qualify("--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["decision"] == "NOT QUALIFIED"
    assert [(one["id"], one["standing"]) for one in report["found"]] == [("lost-write", "unexplained")]


def test_a_qualification_that_was_killed_goes_on_with_what_is_missing(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.killed_at = 4
    assert qualify() == exits.EXIT_INTERRUPTED
    assert not list((tmp_path / "runs").rglob("qualification.*"))
    capsys.readouterr()
    assert qualify("--json") == 0
    captured = capsys.readouterr()
    assert "3 of 8 runs are done already" in captured.err
    assert len(fake.done) == RUNS + 1
    report = json.loads(captured.out)
    assert [run["outcome"]["outcome"] for run in report["runs"]] == ["valid"] * 6


def test_an_interrupted_qualification_is_inconclusive_and_says_what_is_missing(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.cancelled_at = 4
    assert qualify("--json") == 2
    report = json.loads(capsys.readouterr().out)
    assert "2 planned runs of the candidate not run" in report["gaps"]
    assert "3 planned runs of the baseline not run" in report["gaps"]
    assert qualify("--json") == 0
    assert len(fake.done) == RUNS + 1


def test_another_night_runs_other_seeds_and_reports_over_them_alone(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify() == 0
    capsys.readouterr()
    assert qualify("--night", "2", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    seeds = {run["outcome"]["identity"]["seed"] for run in report["runs"]}
    assert seeds == {201, 202, 203}
    assert {seed for _scenario, _version, seed in fake.done} == {1, 2, 3, *seeds}
    reports = {path.name for path in (tmp_path / "runs/qualifications").iterdir()}
    assert reports == {"4.3.1-against-4.1.1-smoke", "4.3.1-against-4.1.1-smoke-night-2"}


@pytest.mark.parametrize("words", [("--seeds", "1..2"), ("--no-run",)])
def test_a_night_without_seeds_of_a_preset_is_refused(
    fake: FakeRuns, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify("--night", "2", *words) == 64
    assert f"--night and {words[0]}" in capsys.readouterr().err
    assert fake.done == []


def test_a_failed_run_is_reported_and_repeated(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.failing = {("4.3.1", 1)}
    assert qualify("--json") == 2
    report = json.loads(capsys.readouterr().out)
    assert "1 run of the candidate that failed (no folder: no engine)" in report["gaps"]
    fake.failing = set()
    assert qualify() == 0
    assert len(fake.done) == RUNS


def test_shards_merged_from_elsewhere_are_the_whole(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.red = {("4.1.1", 3)}
    assert qualify("--out", str(tmp_path / "whole")) == 0
    fake.done.clear()
    moved = []
    for number in (1, 2):
        made = tmp_path / f"made-{number}"
        assert qualify("--shard", f"{number}/2", "--runs", str(made)) == 0
        moved.append(tmp_path / f"moved-{number}")
        shutil.move(made, moved[-1])
    assert len(fake.done) == RUNS
    assert "runs of this shard came to a verdict" in capsys.readouterr().out
    merge = [word for store in moved for word in ("--merge", str(store))]
    assert qualify(*merge, "--runs", str(tmp_path / "none"), "--out", str(tmp_path / "merged")) == 0
    assert len(fake.done) == RUNS
    whole, merged = (
        json.loads((tmp_path / n / "qualification.json").read_text()) for n in ("whole", "merged")
    )
    assert strip_places(merged) == strip_places(whole)


def strip_places(document: Any) -> Any:
    """Without folders' names, which hold the time at which a shard's run began."""
    if isinstance(document, dict):
        return {name: strip_places(value) for name, value in document.items() if "folder" not in name}
    return [strip_places(value) for value in document] if isinstance(document, list) else document


def test_an_unfinished_shard_is_reported(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.failing = {("4.3.1", seed) for seed in (1, 2, 3)}
    assert qualify("--shard", "1/1") == 2
    assert "5 of 8 runs of this shard" in capsys.readouterr().out


def test_what_failed_in_the_last_qualification_is_run_again(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rerun, "require_images", list)
    fake.red, fake.failing, fake.cancelled_at = {("4.3.1", 2)}, {("4.1.1", 1)}, 6
    assert qualify() == 1
    place = tmp_path / "runs/qualifications/4.3.1-against-4.1.1-smoke"
    outputs = []
    for words in ([], [str(place)], [f"qualifications/{place.name}"]):
        capsys.readouterr()
        assert cli.invoke(["rerun-failed", "--dry-run", *words]) == 0
        outputs.append(capsys.readouterr().out)
    first, missing, *again = outputs[0].splitlines()
    assert first == f"failed   2 of 6 runs in {place}"
    assert missing == "missing  2 runs; the same krucible qualify makes them"
    assert sorted(line.partition("--duration")[0].split()[1:] for line in again) == [
        ["failed", *["krucible", "run", "exploratory/txn", "--seed", "1", "--kafka-version", "4.1.1"]],
        ["invalid", *["krucible", "run", "exploratory/txn", "--seed", "2", "--kafka-version", "4.3.1"]],
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    for here, name in ((place, "."), (place.parent, place.name)):
        monkeypatch.chdir(here)
        assert cli.invoke(["rerun-failed", "--dry-run", name]) == 0
        assert capsys.readouterr().out.splitlines()[1:] == [missing, *again], "from inside of the store"

    fake.red, fake.failing, fake.cancelled_at = set(), set(), 1_000
    before = len(fake.done)
    assert cli.invoke(["rerun-failed"]) == 0
    assert sorted(fake.done[before:]) == [("exploratory/txn", "4.1.1", 1), ("exploratory/txn", "4.3.1", 2)]


def test_a_campaign_that_went_on_later_is_the_last_one(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.red = {("4.3.1", 2)}
    assert qualify() == 1
    assert cli.invoke(["run", "exploratory/txn", "--seeds", "5..6", "--kafka-version", "4.3.1"]) == 0
    newest = max((tmp_path / "runs").rglob("campaign.json"), key=lambda state: state.stat().st_mtime_ns)
    damaged = tmp_path / "runs/qualifications/old/campaigns.json"
    damaged.parent.mkdir()
    damaged.write_text("{")
    os.utime(damaged, (1, 1))
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", "--dry-run"]) == 0
    assert capsys.readouterr().out == f"failed   0 of 2 runs in {newest.parent}\n"
    record = tmp_path / "runs/qualifications/4.3.1-against-4.1.1-smoke/campaigns.json"
    record.write_text("{")
    assert cli.invoke(["rerun-failed", str(record.parent)]) == 3
    assert "the record of the qualification can't be read" in capsys.readouterr().err


def test_a_report_over_what_a_store_holds(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify() == 0
    capsys.readouterr()
    folders = sorted((tmp_path / "runs").rglob("campaign.json"))
    assert len(folders) == RUNS
    for path in folders:
        path.unlink()
    assert qualify("--no-run", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["preset"] == qualifying.STORED
    assert sum(cell["planned"] for cell in report["cells"]) == 6
    assert sorted(side["version"] for side in report["controls"]) == ["3.6.2", "3.7.1"]
    assert {one["pairs"] for one in report["comparisons"]["durations"]} == {3}
    assert len(fake.done) == RUNS


def test_without_runs_the_report_is_empty_and_lists_the_gaps(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify("--no-run", "--preset", "smoke", "--json") == 2
    report = json.loads(capsys.readouterr().out)
    assert report["generated_at"] == ""
    assert report["operations"] == 0
    assert "3 planned runs of the candidate not run" in report["gaps"]
    assert fake.done == []


def test_a_plan_runs_nothing_and_says_how_long_it_takes(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify("--plan") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("8 runs, about ")
    assert [line.split()[:3] for line in lines[:-1]] == [
        ["control", "3.6.2", "isolated"],
        ["control", "3.7.1", "isolated"],
        ["candidate", "4.3.1", "combined"],
        ["baseline", "4.1.1", "combined"],
    ]
    assert qualify("--plan", "--json", "--shard", "1/2") == 0
    document = json.loads(capsys.readouterr().out)
    assert 0 < sum(line["runs"] for line in document["lines"]) < RUNS
    assert fake.done == []
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--candidate", "newest"),
        ("--baseline", "4.3.1"),
        ("--shard", "3/2"),
        ("--shard", "0/2"),
        ("--shard", "half"),
        ("--preset", "huge"),
        ("--candidate", "kafka_2.13-9.9.9.tgz"),
        ("--candidate", "registry.local/kafka@sha256:00"),
        ("--merge", "nowhere"),
    ],
)
def test_what_does_not_fit_is_refused(fake: FakeRuns, words: tuple[str, ...]) -> None:
    assert qualify(*words) == 64
    assert fake.done == []


def test_builds_by_version_digest_and_image() -> None:
    assert qualifying.build_of("4.3.1") == ("4.3.1", "4.3.1", KafkaChoice(kafka_version="4.3.1"))
    image = qualifying.build_of("registry.local/kafka:4.2.0")
    assert image.version == "4.2.0"
    assert image.kafka == KafkaChoice(kafka_image="registry.local/kafka:4.2.0", kafka_version="4.2.0")
    digest = qualifying.build_of(f"4.3.1@sha256:{'a' * 64}")
    assert digest.version == "4.3.1"
    assert digest.kafka.kafka_image is not None
    assert digest.kafka.kafka_image.endswith(f"@sha256:{'a' * 64}")
    with pytest.raises(UsageError, match="no such tarball"):
        qualifying.build_of("nowhere/kafka_2.13-4.3.1.tgz")


@pytest.mark.usefixtures("fake")
def test_a_report_that_can_not_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert qualify("--no-run", "--out", str(tmp_path / "file" / "below")) == 3
    assert "the operating system refused" in capsys.readouterr().err
