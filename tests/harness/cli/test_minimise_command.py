"""``krucible minimise`` with runs that need no cluster: budget, resuming, what is written, and the errors."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from checkers.history.operations import OperationType
from checkers.verdict.verdict import Validity, Verdict
from harness import cli
from harness.campaigns.minimising import runs as making
from harness.campaigns.minimising.passes import planned_of
from harness.campaigns.minimising.pieces import pieces_of
from harness.campaigns.series import Venue
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.plan.scenario_files import load_file
from harness.plan.schedule import faults_of
from harness.plan.writing import write_scenario
from harness.vocabulary import Expectation, FixedSchedule, LogWorkload, Target
from results.store.runs import find_run, load_identity
from tests.harness.fakes.runs import GREEN, RED, UNKNOWN, ZOMBIE, stored
from tests.harness.recorded_run import BEGAN_NS, SECOND, Recording, a_verdict, planned, store_run


class Runs:
    """In the place of runs: red as long as the schedule has its fault, unless an end is set."""

    def __init__(self) -> None:
        self.plans: list[RunPlan] = []
        self.ends: list[Verdict | Exception] = []
        self.after: Callable[[threading.Event], None] = lambda _: None

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        self.plans.append(plan)
        click.echo("chatter of a run")
        end = self.ends.pop(0) if self.ends else (RED if pieces_of(plan.schedule) else GREEN)
        self.after(cancelled)
        if isinstance(end, Exception):
            raise end
        folder = venue.runs / plan.options.scenario / f"20261122T02{len(self.plans):04}Z-7"
        return store_run(folder, plan, end, [], run=f"candidate-{len(self.plans)}"), end


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Runs:
    fake = Runs()
    monkeypatch.setattr(making, "run_one", fake)
    return fake


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def red(store: Path) -> Path:
    return stored(store, RED)


def test_a_red_run_becomes_a_smaller_scenario_that_can_be_run(
    red: Path, store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["minimise", "latest"]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[0] == "minimised  zombie-leader: 8 of 8 (68 to 100 %) with 1 of 1 fault, 6 nodes, 14 s"
    assert lines[1] == "rate       of runs after the search; the interval is Wilson's of 95 %"
    assert "kept if it comes back 90% of the time, dropped if 50%" in lines[2]
    assert lines[3] == ("taken away 5 of 6 partitions, 4 of 6 client processes, 24 of 38 seconds")
    path = red / "minimised/zombie-leader/scenario.py"
    assert lines[-1] == f"reproduce  krucible run {path} --seed 7 --kafka-version 3.6.2 --runs {store}"
    assert "chatter" not in output.out
    assert "minimise   run 1: the whole schedule, roles resolved again" in output.err

    scenario = load_file(path)
    assert isinstance(scenario.schedule, FixedSchedule)
    (step,) = scenario.schedule.steps
    assert (step.at_ms, step.hold_ms, step.fault.target) == (3_000, 5_000, Target.ACTIVE_CONTROLLER)
    assert isinstance(scenario.workload, LogWorkload)
    (expected,) = scenario.expectations
    assert expected == Expectation(Validity.INVALID, ("zombie-leader",), why=f"run abc of {ZOMBIE}")
    assert "8 of 8 (68 to 100 %)" in path.read_text()

    # Every candidate is a run that is kept, and none of them is the latest run that is no replay.
    assert {plan.replay_of for plan in made.plans} == {"abc"}
    assert all(plan.options.scenario.startswith("files/zombie-leader-") for plan in made.plans)
    assert all(f"krucible run {red}/minimised" in plan.reproduce for plan in made.plans)
    newest = find_run(store, made.plans[-1].options.scenario)
    assert load_identity(newest).replay_of == "abc"
    assert find_run(store, "latest", originals=True) == red.resolve()


def test_json_has_the_result_in_numbers(red: Path, made: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["minimise", str(red), "--runs-at-most", "1", "--json"]) == 2
    value = json.loads(capsys.readouterr().out)
    assert (value["runs"], value["complete"], value["smallest"], value["exit_code"]) == (1, False, None, 2)

    assert cli.invoke(["minimise", str(red), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["run"], value["anomaly"]) == (str(red), "zombie-leader")
    assert (value["runs"], value["complete"], value["exit_code"]) == (len(made.plans), True, 0)
    smallest = value["smallest"]
    assert smallest["scenario"] == str(red / "minimised/zombie-leader/scenario.py")
    assert smallest["reproduce"] == f"krucible run {smallest['scenario']} --seed 7 --kafka-version 3.6.2"
    assert (smallest["rate"]["count"], smallest["rate"]["of"], smallest["confirmed"]) == (8, 8, True)
    assert smallest["test_decided"] is True
    sizes = [
        (smallest[when]["faults"], smallest[when]["partitions"], smallest[when]["duration_s"])
        for when in ("before", "after")
    ]
    assert sizes == [(1, 6, 38), (1, 1, 14)]


def test_what_was_run_is_not_run_again(red: Path, made: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["minimise", str(red)]) == 0
    whole, result = len(made.plans), (red / "minimised/zombie-leader/scenario.py").read_text()
    assert cli.invoke(["minimise", str(red)]) == 0
    assert len(made.plans) == whole

    (red / "minimised/zombie-leader/state.json").unlink()
    codes = [cli.invoke(["minimise", str(red), "--runs-at-most", "3"]) for _ in range(-(-whole // 3))]
    assert codes[-1] == 0
    assert set(codes[:-1]) == {2}
    assert len(made.plans) == 2 * whole
    assert (red / "minimised/zombie-leader/scenario.py").read_text() == result
    output = capsys.readouterr()
    assert "the budget is spent; the same command continues" in output.err
    assert "a rate that is too high" in output.out
    assert "; smaller ones are left to try" in output.out
    assert "; its rate is not measured yet" in output.out
    assert "dropped if 50% (each wrong at most 20% of the time); not decided yet" in output.out
    assert re.search(r" in \d+ min; nothing smaller is left to try", output.out)


def test_runs_under_the_keys_of_earlier_versions_count(red: Path, made: Runs) -> None:
    assert cli.invoke(["minimise", str(red)]) == 0
    number = len(made.plans)
    folder = red / "minimised/zombie-leader"
    text = (folder / "state.json").read_text()
    for path in (folder / "candidates").iterdir():
        key = path.stem.removeprefix("zombie-leader-")
        former = hashlib.sha256(write_scenario(load_file(path), "").encode()).hexdigest()[:8]
        assert f'"{key}"' in text
        text = text.replace(f'"{key}"', f'"{former}"')
    (folder / "state.json").write_text(text)
    assert cli.invoke(["minimise", str(red)]) == 0
    assert len(made.plans) == number


def test_a_run_is_minimised_by_one_process_at_a_time(
    red: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = red / "minimised/zombie-leader"
    codes: list[int] = []
    made.after = lambda _: codes.append(cli.invoke(["minimise", str(red)]))
    assert cli.invoke(["minimise", str(red), "--runs-at-most", "1"]) == 2
    assert (codes, len(made.plans)) == ([3], 1)
    stderr = capsys.readouterr().err
    assert "another process is minimising this run" in stderr
    assert f"{folder / 'lock'} is locked" in stderr


def test_a_candidate_that_was_edited_is_run_as_it_was_written(red: Path, made: Runs) -> None:
    assert cli.invoke(["minimise", str(red), "--runs-at-most", "1"]) == 2
    (candidate,) = (red / "minimised/zombie-leader/candidates").iterdir()
    candidate.write_text(candidate.read_text().replace("hold_ms=", "hold_ms=1 + "))
    assert cli.invoke(["minimise", str(red), "--runs-at-most", "1"]) == 2
    first, second = made.plans
    assert first.options.scenario_file == second.options.scenario_file
    assert first.schedule == second.schedule


def test_nothing_is_known_before_the_whole_schedule_was_decided(
    red: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["minimise", str(red), "--runs-at-most", "1"]) == 2
    assert capsys.readouterr().out == "undecided  whether zombie-leader comes back at all, after 1 run\n"
    assert len(made.plans) == 1


def test_the_time_is_kept_to(red: Path, made: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def lasts(_cancelled: threading.Event) -> None:
        now[0] += 60

    made.after = lasts
    assert cli.invoke(["minimise", str(red), "--for", "10m", "--confirm", "3"]) == 2
    # Time is left for the last three, which measure the rate.
    assert now[0] <= 600
    state = json.loads((red / "minimised/zombie-leader/state.json").read_text())
    assert [each["confirming"] for each in state["tried"]] == [False] * 7 + [True] * 3


def test_ctrl_c_keeps_what_is_there(red: Path, made: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(cancelled: threading.Event) -> None:
        if len(made.plans) == 5:
            cancelled.set()

    made.after = interrupted
    assert cli.invoke(["minimise", str(red)]) == 2
    output = capsys.readouterr()
    assert "interrupted; the same command continues" in output.err
    state = json.loads((red / "minimised/zombie-leader/state.json").read_text())
    assert len(state["tried"]) == 4
    assert cli.invoke(["minimise", str(red)]) == 0


def test_an_anomaly_that_does_not_come_back_is_reported(
    red: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    other = a_verdict(Validity.INVALID, "lost-write")
    made.ends = [UNKNOWN, GREEN, other, *[GREEN] * 40]
    assert cli.invoke(["minimise", str(red)]) == 1
    assert "zombie-leader did not come back often enough" in capsys.readouterr().out
    state = json.loads((red / "minimised/zombie-leader/state.json").read_text())
    assert [each["outcome"] for each in state["tried"][:3]] == ["undecided", "missed", "missed"]
    scenarios = {plan.options.scenario for plan in made.plans}
    assert len(scenarios) == 2


def test_it_goes_on_at_the_same_nodes_where_an_operation_of_then_came_after_the_planned_end(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(ZOMBIE, kafka_version="3.6.2")
    nemesis, admin = Recording("nemesis"), Recording("admin")
    (fault,) = faults_of(plan.schedule)
    nemesis.fault("f1", fault, "c2", (5_000, 5_200, 30_300))
    asked = {"partitions": None, "to": "b1"}
    late_ms = plan.schedule.duration_ms + 500
    admin.add(late_ms, OperationType.INVOKE, "elect-leaders", "preferred", asked)
    folder = store_run(store / ZOMBIE / "20261122T010000Z-7", plan, RED, [nemesis, admin])
    made.ends = [GREEN] * 6
    assert cli.invoke(["minimise", str(folder)]) == 0
    output = capsys.readouterr()
    assert "minimise   run 7: the whole schedule, on the same nodes" in output.err
    assert output.out.startswith("minimised  zombie-leader: 8 of 8")


def test_the_schedule_until_the_anomaly_is_tried_first(
    store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned("exploratory/chaos")
    nemesis = Recording("nemesis")
    (first, *_others) = faults_of(plan.schedule)
    nemesis.fault("f1", first, "n2", (5_000, 5_200, 12_000))
    found = a_verdict(Validity.INVALID, "zombie-leader", time_ns=BEGAN_NS + 9 * SECOND)
    made.ends = [found] * 500
    folder = store_run(store / "exploratory/chaos/20261122T010000Z-7", plan, found, [nemesis])
    assert cli.invoke(["minimise", str(folder), "--confirm", "0"]) == 0
    assert "minimise   run 1: the schedule until the anomaly, " in capsys.readouterr().err
    guess = made.plans[0].schedule
    assert isinstance(guess, FixedSchedule)
    assert isinstance(plan.schedule, FixedSchedule)
    assert guess.steps == plan.schedule.steps[:1]
    assert guess.duration_ms < plan.schedule.duration_ms


@pytest.mark.parametrize("name", ["../../../lost", "/lost", "lost\0write", "..", ""])
def test_an_anomaly_with_a_name_that_leads_elsewhere_is_refused(
    name: str, store: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(store, a_verdict(Validity.INVALID, name))
    before = sorted(store.parent.rglob("*"))
    assert cli.invoke(["minimise", str(folder)]) == 64
    assert "an anomaly in the run's verdict has an invalid name" in capsys.readouterr().err
    assert sorted(store.parent.rglob("*")) == before
    assert made.plans == []


def test_a_run_that_failed_is_made_again_once(
    red: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = KrucibleError("no engine")
    made.ends = [failure, RED]
    assert cli.invoke(["minimise", str(red), "--runs-at-most", "2"]) == 2
    assert "the run failed and is repeated: no engine" in capsys.readouterr().err
    made.ends = [failure, failure]
    assert cli.invoke(["minimise", str(red)]) == 3
    assert "no engine" in capsys.readouterr().err
    state = json.loads((red / "minimised/zombie-leader/state.json").read_text())
    assert len(state["tried"]) == 1


def test_a_seeded_bug_stays_in_and_its_anomaly_is_the_one_that_is_wanted(store: Path, made: Runs) -> None:
    plan = planned("smoke/partition", seeded_bug="min-isr-ignored", kafka_version="4.3.1")
    (wanted, *_others) = plan.expectation.anomalies
    found = a_verdict(Validity.INVALID, "zombie-leader", wanted)
    made.ends = [found] * 500
    folder = store_run(
        store / "smoke/partition/20261122T010000Z-7", plan, found, [], seeded_bug="min-isr-ignored"
    )
    assert cli.invoke(["minimise", str(folder), "--confirm", "0"]) == 0
    assert {each.options.seeded_bug for each in made.plans} == {"min-isr-ignored"}
    assert made.plans[0].expectation.anomalies == plan.expectation.anomalies
    scenario = load_file(folder / "minimised" / wanted / "scenario.py")
    assert scenario.expectations == ()
    source = (folder / "minimised" / wanted / "scenario.py").read_text()
    assert "of smoke/partition, Kafka 4.3.1, with the seeded bug min-isr-ignored.\n" in source
    assert pieces_of(planned_of(scenario)) == ()


@pytest.mark.parametrize(
    ("verdict", "words", "expected"),
    [
        (GREEN, [], ["only a run that is invalid can be minimised", "the verdict valid"]),
        (UNKNOWN, [], ["the verdict unknown", "krucible list"]),
        (RED, ["--anomaly", "lost-write"], ["does not show that anomaly", "zombie-leader", "drop --anomaly"]),
    ],
)
def test_what_can_not_be_minimised_is_refused(
    verdict: Verdict, words: list[str], expected: list[str], store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(store, verdict)
    assert cli.invoke(["minimise", str(folder), *words]) == 64
    stderr = capsys.readouterr().err
    assert all(each in stderr for each in [*expected, str(folder)])
    assert not (store / "files").exists()


def test_a_folder_without_a_schedule_is_refused(
    red: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    (red / "schedule.json").unlink()
    assert cli.invoke(["minimise", str(red)]) == 64
    assert "schedule.json" in capsys.readouterr().err
    assert cli.invoke(["minimise", "nowhere"]) == 64
    assert "no run is called 'nowhere'" in capsys.readouterr().err
    assert made.plans == []


@pytest.mark.parametrize("content", ["{", '{"run": "another", "wanted": "zombie-leader", "tried": []}', "[]"])
def test_a_state_that_can_not_be_used_is_refused(
    content: str, red: Path, made: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    state = red / "minimised/zombie-leader/state.json"
    state.parent.mkdir(parents=True)
    state.write_text(content)
    assert cli.invoke(["minimise", str(red)]) == 3
    stderr = capsys.readouterr().err
    assert "can't be used" in stderr
    assert f"start again: rm {state}" in stderr
    assert made.plans == []
