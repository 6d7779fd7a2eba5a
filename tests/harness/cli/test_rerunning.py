"""``krucible run --from`` and ``krucible rerun-failed`` with runs that need no cluster."""

import json
import threading
from pathlib import Path

import msgspec
import pytest

from checkers.history.identity import IDENTITY_FILE, decode_identity, encode_identity
from checkers.verdict.verdict import Validity, Verdict
from harness import cli
from harness.campaigns import making
from harness.campaigns.campaign import STATE_FILE
from harness.campaigns.series import Venue
from harness.cli.runs import rerun
from harness.cli.runs import run as running
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.plan.writing import write_scenario
from results.repeats.flakes import minority, runs_alike
from results.store.runs import VERDICT_FILE, list_runs, load_identity
from tests.harness.fakes.runs import GREEN, RED, UNKNOWN, ZOMBIE, stored
from tests.harness.recorded_run import planned, store_run

CHAOS = "exploratory/chaos"
KNOWN = msgspec.structs.replace(RED, expected=Validity.INVALID, as_expected=True)
MISSED = msgspec.structs.replace(GREEN, expected=Validity.INVALID, as_expected=False)


class Runs:
    """In the place of runs: each leaves its folder, with the next verdict."""

    def __init__(self) -> None:
        self.plans: list[RunPlan] = []
        self.ends: list[Verdict | Exception] = []
        self.interrupt_after = 1_000
        self.number = 0

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        self.plans.append(plan)
        end = self.ends.pop(0) if self.ends else GREEN
        if isinstance(end, Exception):
            raise end
        self.number += 1
        folder = venue.runs / plan.options.scenario / f"20261123T02{self.number:04}Z-{plan.options.seed}"
        store_run(folder, plan, end, [], run=f"made-{self.number}")
        if len(self.plans) == self.interrupt_after:
            cancelled.set()
        return folder, end

    def seeds(self) -> list[int]:
        """Of the runs since this was asked last."""
        found = [plan.options.seed for plan in self.plans]
        self.plans.clear()
        return found


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path / "runs"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Runs:
    fake = Runs()
    for module in (making, running):
        monkeypatch.setattr(module, "run_one", fake)
    monkeypatch.setattr(rerun, "require_images", list)
    return fake


def put(store: Path, seed: int, verdict: Verdict | None, run: str = "", **more: object) -> Path:
    """A run of chaos, with the time that its seed gives."""
    plan = planned(CHAOS, seed, **{"kafka_version": "4.1.1", "duration_s": 30} | more)
    return store_run(
        store / CHAOS / f"20261122T01{seed:04}Z-{seed}", plan, verdict, [], run=run or f"r{seed}"
    )


def edit_identity(folder: Path, **changes: object) -> None:
    path = folder / IDENTITY_FILE
    identity = msgspec.structs.replace(decode_identity(path.read_bytes()), **changes)
    path.write_bytes(encode_identity(identity))


def campaign(made: Runs, *ends: Verdict | Exception) -> None:
    """Of seeds from 1 on, with these ends."""
    made.ends = list(ends)
    cli.invoke(["run", CHAOS, "--seeds", f"1..{len(ends)}", "--kafka-version", "4.1.1", "--duration-s", "30"])
    assert made.seeds() == [*range(1, len(ends) + 1)]


def campaign_folder(store: Path) -> Path:
    (state,) = (path for path in store.rglob(STATE_FILE) if '"krucible run' in path.read_text())
    return state.parent


def test_a_stored_run_is_planned_again_from_its_own_options(store: Path, made: Runs) -> None:
    original = put(store, 5, RED)
    assert cli.invoke(["run", "--from", "5"]) == 0
    (plan,) = made.plans
    assert plan == msgspec.structs.replace(
        planned(CHAOS, 5, kafka_version="4.1.1", duration_s=30), replay_of=load_identity(original).run
    )


def test_the_same_line_means_the_same_run_again(store: Path, made: Runs) -> None:
    put(store, 5, RED)
    for name in ("latest", "latest", CHAOS, "5"):
        assert cli.invoke(["run", "--from", name]) == 0
    assert {plan.replay_of for plan in made.plans} == {"r5"}
    assert made.seeds() == [5] * 4


@pytest.mark.usefixtures("made")
def test_original_and_rerun_are_one_schedule_with_two_verdicts(store: Path) -> None:
    put(store, 5, RED)
    put(store, 6, GREEN)
    assert cli.invoke(["run", "--from", "5"]) == 0
    groups = runs_alike(list_runs(store), lambda run: run.comparable)
    assert sorted(len(group) for group in groups) == [1, 2]
    (flaky,) = (group for group in groups if len(group) > 1)
    assert {run.replay_of for run in flaky} == {"", "r5"}
    assert minority({str(run.validity): 1 for run in flaky}) == 1


def test_an_option_that_was_recorded_with_its_default_is_not_in_the_line(store: Path, made: Runs) -> None:
    """As the process of a run records where Kafka comes from."""
    original = put(store, 5, RED)
    edit_identity(original, options=load_identity(original).options | {"image_source": "auto"})
    assert cli.invoke(["run", "--from", "5"]) == 0
    assert made.plans[0].reproduce == load_identity(original).reproduce


def test_a_rerun_has_its_roles_still(
    store: Path, made: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What planned its own schedule can be replayed as any other run."""
    original = stored(store, RED)
    assert cli.invoke(["run", "--from", str(original), "--dry-run"]) == 0
    edit_identity(original, replay_of="before")
    made.ends = [RED]
    monkeypatch.setattr("harness.cli.runs.replay.run_one", made)
    capsys.readouterr()
    assert cli.invoke(["replay", str(original), "--symbolic"]) == 0
    assert made.plans[0].schedule == planned(ZOMBIE, kafka_version="3.6.2").schedule
    assert "is itself a replay" not in capsys.readouterr().out


def test_a_run_of_a_file_is_planned_from_that_file(store: Path, made: Runs, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(write_scenario(planned("smoke/partition").scenario, "A scenario of a user."))
    folder = store / "files/mine/20261122T010000Z-7"
    store_run(folder, planned("files/mine", scenario_file=str(path)), RED, [])
    assert cli.invoke(["run", "--from", "files/mine"]) == 0
    assert made.plans[0].options.scenario_file == str(path)
    path.unlink()
    assert cli.invoke(["run", "--from", "files/mine"]) == 64


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([CHAOS], "got:      --from and SCENARIO"),
        (["--seed", "6", "--config", "a=b"], "got:      --from and --seed, --config"),
        (["--kafka-version", "4.3.1"], "drop --kafka-version, or --from"),
    ],
)
def test_nothing_is_chosen_beside_what_is_stored(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    put(store, 5, RED)
    assert cli.invoke(["run", "--from", "5", *words]) == 64
    assert expected in capsys.readouterr().err
    assert cli.invoke(["run"]) == 64
    assert "no scenario is named\n  expected: SCENARIO, or --from RUN\n" in capsys.readouterr().err
    assert not made.plans


def test_a_replay_is_no_run_to_be_planned_again(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put(store, 5, RED)
    edit_identity(folder, replay_of="r1", reproduce="krucible replay runs/r1 --symbolic")
    assert cli.invoke(["run", "--from", str(folder)]) == 64
    stderr = capsys.readouterr().err
    assert "got:      a replay of run r1" in stderr
    assert "next:     krucible replay runs/r1 --symbolic" in stderr
    assert cli.invoke(["run", "--from", "nosuch"]) == 64
    assert not made.plans


def test_a_campaign_is_run_again_whole_and_goes_on_where_it_was_interrupted(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, GREEN, RED, GREEN)
    place = campaign_folder(store)
    name = place.relative_to(store).as_posix()
    made.interrupt_after = 2
    assert cli.invoke(["run", "--from", name]) == 0
    assert made.seeds() == [1, 2]
    assert cli.invoke(["run", "--from", str(place)]) == 0
    assert made.seeds() == [2, 3]
    assert "resuming: 1 of 3 seeds" in capsys.readouterr().out
    assert campaign_folder(store) == place
    for words in (["--keep"], ["--dry-run"]):
        assert cli.invoke(["run", "--from", name, *words]) == 64
        assert "which is a campaign" in capsys.readouterr().err


def test_what_failed_in_the_last_campaign_is_run_again(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, GREEN, RED, UNKNOWN, KNOWN, MISSED, KrucibleError("no engine"))
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert f"failed   4 of 6 runs in {campaign_folder(store)}\n" in output
    line = f"krucible run {CHAOS} --seed 3 --kafka-version 4.1.1 --duration-s 30"
    assert f"again    unknown {line} --runs {store}\n" in output
    assert not made.plans

    made.ends = [GREEN, RED, GREEN, GREEN]
    assert cli.invoke(["rerun-failed"]) == 1
    originals = {plan.options.seed: plan.replay_of for plan in made.plans}
    assert originals == {2: "made-2", 3: "made-3", 5: "made-5", 6: ""}
    assert "INVALID: 4 seeds, 1 invalid, 3 valid" in capsys.readouterr().out


def test_json_has_what_failed_and_how_its_reruns_ended(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, GREEN, RED, KrucibleError("no engine"))
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", "--dry-run", "--json"]) == 0
    planned_only = json.loads(capsys.readouterr().out)
    assert not made.plans
    assert planned_only["folder"] == str(campaign_folder(store))
    counts = [planned_only[name] for name in ("runs", "missing", "left_out", "reruns", "exit_code")]
    assert counts == [3, 0, [], [], 0]
    assert [(one["seed"], one["outcome"]) for one in planned_only["again"]] == [(2, "invalid"), (3, "failed")]
    assert planned_only["again"][1] == {
        "run": "seed 3",
        "outcome": "failed",
        "scenario": CHAOS,
        "kafka_version": "4.1.1",
        "seed": 3,
        "reproduce": f"krucible run {CHAOS} --seed 3 --kafka-version 4.1.1 --duration-s 30",
    }

    made.ends = [RED, KrucibleError("still no engine")]
    assert cli.invoke(["rerun-failed", "--json"]) == 1
    captured = capsys.readouterr()
    assert "--- seed 2 (1 of 2)" in captured.err
    red, failed = json.loads(captured.out)["reruns"]
    assert (red["seed"], red["outcome"], Path(red["folder"]).is_dir()) == (2, "invalid", True)
    assert (failed["seed"], failed["outcome"], failed["folder"]) == (3, "failed", None)
    assert "still no engine" in failed["why"]


@pytest.mark.usefixtures("store")
def test_reruns_are_the_same_however_often_and_go_on_after_an_interruption(
    made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, RED, UNKNOWN, GREEN)
    assert cli.invoke(["rerun-failed"]) == 0
    assert made.seeds() == [1, 2]
    made.interrupt_after = 2
    assert cli.invoke(["rerun-failed"]) == 0
    assert made.seeds() == [1, 2]
    assert cli.invoke(["rerun-failed"]) == 0
    assert made.seeds() == [2]
    assert "resuming: 1 of 2 seeds" in capsys.readouterr().out


def test_of_a_folder_every_line_counts_by_its_newest_run(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, verdict in ((1, GREEN), (2, RED), (3, RED), (4, None)):
        put(store, seed, verdict)
    put(store, 5, RED, mode="isolated")
    edit_identity(put(store, 6, RED), replay_of="r1")
    again = put(store, 1003, GREEN)
    edit_identity(again, seed=3, reproduce=planned(CHAOS, 3, kafka_version="4.1.1", duration_s=30).reproduce)
    assert cli.invoke(["rerun-failed", CHAOS]) == 0
    output = capsys.readouterr().out
    assert f"failed   3 of 5 runs in {store / CHAOS}\n" in output
    assert "again    failed  " in output
    assert sorted(made.seeds()) == [2, 4, 5]
    # Two settings, two campaigns, each with its summary.
    assert output.count("summary  ") == 2


def test_a_seed_that_left_no_run_is_found_in_the_store(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, GREEN, KrucibleError("no engine"))
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", str(store), "--dry-run"]) == 0
    assert "failed   1 of 2 runs in " in capsys.readouterr().out
    put(store, 2, UNKNOWN)  # the run of that line
    assert cli.invoke(["rerun-failed", str(store), "--dry-run"]) == 0
    assert "again    unknown " in capsys.readouterr().out


def test_what_can_not_be_planned_again_is_reported_and_is_a_failure(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    edit_identity(put(store, 1, RED), scenario="exploratory/gone")
    (put(store, 2, RED) / IDENTITY_FILE).write_text("{")
    assert cli.invoke(["rerun-failed", str(store)]) == 3
    captured = capsys.readouterr()
    assert "failed   2 of 2 runs" in captured.out
    assert "the scenario of that run is gone" in captured.err
    assert "run.json is damaged" in captured.err
    assert not made.plans


def test_a_tarball_of_another_machine_is_reported_and_other_runs_are_made(
    store: Path, made: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tarball = tmp_path / "kafka_2.13-4.1.1.tgz"
    tarball.touch()
    folder = put(store, 1, RED, kafka_tarball=str(tarball))
    put(store, 2, RED)
    assert cli.invoke(["rerun-failed", str(store)]) == 0
    assert sorted(made.seeds()) == [1, 2]
    tarball.unlink()
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", str(store)]) == 3
    assert made.seeds() == [2]
    assert f"no file {tarball}" in capsys.readouterr().err
    assert cli.invoke(["run", "--from", str(folder)]) == 64
    assert "or name it where it is: krucible run exploratory/chaos --seed 1" in capsys.readouterr().err


@pytest.mark.usefixtures("made")
def test_nothing_to_rerun_is_reported(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["rerun-failed"]) == 64
    stderr = capsys.readouterr().err
    assert "no campaign to look for failures in" in stderr
    assert f"krucible run SCENARIO --seeds A..B --runs {store}, or" in stderr
    assert f"krucible rerun-failed {store} --runs {store}\n" in stderr
    assert cli.invoke(["rerun-failed", "nosuch"]) == 64
    stderr = capsys.readouterr().err
    assert "no runs to look for failures in" in stderr
    assert f"next:     krucible list --runs {store}\n" in stderr
    put(store, 1, GREEN)
    assert cli.invoke(["rerun-failed", CHAOS]) == 0
    assert "failed   0 of 1 run in " in capsys.readouterr().out


def test_a_link_to_a_run_is_followed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(store, 1, GREEN)
    run = put(store, 2, RED)
    (store / "latest").symlink_to(run)
    for name in ("latest", str(store / "latest")):
        assert cli.invoke(["rerun-failed", "--dry-run", name]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"failed   1 of 1 run in {run}"
        assert lines[1].startswith("again    invalid krucible run ")


def test_a_campaign_of_another_krucible_is_distinguished(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, RED, KrucibleError("no engine"))
    state = campaign_folder(store) / STATE_FILE
    content = state.read_text()
    state.write_text(content.replace('"duration_s": 30', '"duration_s": "long"'))
    capsys.readouterr()
    assert cli.invoke(["run", "--from", str(state.parent)]) == 64
    assert "recorded by another version of krucible" in capsys.readouterr().err
    assert cli.invoke(["rerun-failed", str(state.parent), "--dry-run"]) == 3
    assert "left out seed 2 (failed: no engine): that campaign was recorded" in capsys.readouterr().err
    state.write_text(content.replace('"options"', '"options_of_old"'))
    assert cli.invoke(["run", "--from", str(state.parent)]) == 64
    assert "did not record what it ran" in capsys.readouterr().err
    assert cli.invoke(["rerun-failed"]) == 64
    state.write_text("{")
    of_campaign = str(state.parent)
    for words in (["rerun-failed"], ["rerun-failed", of_campaign], ["run", "--from", of_campaign]):
        assert cli.invoke(words) == 3, "a stored file is damaged"
        stderr = capsys.readouterr().err
        assert "the state of the campaign can't be read" in stderr
        assert f"where:    {state.parent}\n  next:     restore that file" in stderr


def test_a_rerun_that_the_harness_could_not_make_is_reported_as_what_it_is(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, RED, GREEN)
    original = campaign_folder(store)
    made.ends = [KrucibleError("no engine")]
    assert cli.invoke(["rerun-failed"]) == 3
    (reruns,) = {path.parent for path in store.rglob(STATE_FILE)} - {original}
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", str(reruns), "--dry-run"]) == 3
    captured = capsys.readouterr()
    assert "failed   1 of 1 run in " in captured.out
    assert "left out seed 1 (failed: " in captured.err
    assert "did not record what it ran" in captured.err
    assert "another version of krucible" not in captured.err


def test_a_run_whose_verdict_is_gone_is_none_of_a_campaign(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(made, RED, RED)
    (store / CHAOS / "20261123T020002Z-2" / VERDICT_FILE).unlink()
    capsys.readouterr()
    assert cli.invoke(["rerun-failed", "--dry-run"]) == 0
    assert "failed   1 of 1 run in " in capsys.readouterr().out
