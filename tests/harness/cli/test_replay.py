"""``krucible replay`` with runs that need no cluster: what comes back, how often, and the exit codes."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.identity import IDENTITY_FILE, decode_identity, encode_identity
from checkers.verdict.verdict import Validity
from harness import cli
from harness.cli.runs import replay
from harness.errors import KrucibleError
from harness.plan.replaying_plan import OtherKafka, load_recorded, plan_replay, replay_line
from harness.plan.schedule import faults_of
from harness.vocabulary import FixedSchedule, Step, controller
from tests.harness.fakes.runs import GREEN, RED, UNKNOWN, ZOMBIE, Having, having_runs, stored
from tests.harness.recorded_run import Recording, a_verdict, planned, store_run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def red(runs: Path) -> Path:
    return stored(runs, RED)


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Having:
    return having_runs(monkeypatch)


def edit_identity(folder: Path, **changes: Any) -> None:
    path = folder / IDENTITY_FILE
    identity = msgspec.structs.replace(decode_identity(path.read_bytes()), **changes)
    path.write_bytes(encode_identity(identity))


def test_the_same_node_is_hit_again_on_the_same_kafka(red: Path, having: Having) -> None:
    fake = having(RED)
    assert cli.invoke(["replay", str(red)]) == 0
    (plan,) = fake.plans
    assert isinstance(plan.schedule, FixedSchedule)
    (step,) = plan.schedule.steps
    assert (step.at_ms, step.hold_ms, step.fault.target) == (5_000, 25_100, controller(2))
    assert (plan.version, plan.options.seed) == ("3.6.2", 7)
    assert plan.reproduce == f"krucible replay {red}"
    assert plan.replay_of == "abc"


def test_roles_are_resolved_anew_where_that_is_asked_for(red: Path, having: Having) -> None:
    fake = having(RED)
    assert cli.invoke(["replay", str(red), "--symbolic"]) == 0
    (plan,) = fake.plans
    assert plan.schedule == planned(ZOMBIE, kafka_version="3.6.2").schedule
    assert plan.reproduce == f"krucible replay {red} --symbolic"


def test_the_rate_comes_with_its_interval_and_every_run_is_reported(
    red: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    other = a_verdict(Validity.INVALID, "lost-write")
    more = a_verdict(Validity.INVALID, "zombie-leader", "two-leaders", summary="c2 led on")
    fake = having(RED, GREEN, more, UNKNOWN, other, KrucibleError("no engine"))
    assert cli.invoke(["replay", str(red), "--times", "6"]) == 0
    assert [venue.following for venue in fake.venues] == [*fake.plans[1:], None]
    output = capsys.readouterr().out
    assert "KAFKA-15489: quorum/zombie-leader came back in 2 of 4 (15 to 85 %)" in output
    assert "runs       1 valid, 3 invalid, 1 unknown, 1 failed" in output
    assert "alike      in 1 the first sentence is the same" in output
    assert "5  invalid  quorum/lost-write" in output
    assert "6  failed   no engine" in output


def test_a_changed_role_is_reported(
    runs: Path, red: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = having(GREEN)
    fake.roles, fake.jars = ["quorum-follower"], "2"
    assert cli.invoke(["replay", str(red)]) == 1
    output = capsys.readouterr().out
    assert "f1: c2 had the role active-controller in the recorded run, not now" in output
    assert "next       --symbolic" in output
    assert "other jars: krucible/kafka:new, then krucible/kafka:old" in output
    assert output.endswith(f"reproduce  krucible replay {red} --runs {runs}\n")


@pytest.mark.parametrize(
    ("ends", "code", "bisect_code"),
    [
        ([GREEN, RED], 0, 1),
        ([GREEN, GREEN], 1, 0),
        ([GREEN, UNKNOWN], 1, 0),
        ([UNKNOWN, UNKNOWN], 2, 125),
        ([GREEN, KrucibleError("x")], 3, 125),
        ([RED, KrucibleError("x")], 0, 1),
    ],
)
def test_the_exit_code_says_whether_it_came_back(
    red: Path, having: Having, ends: list[Any], code: int, bisect_code: int
) -> None:
    having(*ends)
    assert cli.invoke(["replay", str(red), "--times", "2"]) == code
    having(*ends)
    assert cli.invoke(["replay", str(red), "--times", "2", "--bisect"]) == bisect_code


def test_a_bisection_stops_at_the_first_that_came_back_and_never_resumes(red: Path, having: Having) -> None:
    fake = having(RED, GREEN, GREEN)
    assert cli.invoke(["replay", str(red), "--times", "2", "--bisect"]) == 1
    assert cli.invoke(["replay", str(red), "--times", "2", "--bisect"]) == 0
    assert len(fake.plans) == 3


def test_a_bisection_is_aborted_by_what_no_step_can_mend(
    red: Path, runs: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["replay", "nosuch", "--bisect"]) == 128
    assert cli.invoke(["replay", str(red), "--bisect", "--nosuch"]) == 128
    assert cli.invoke(["replay", str(red), "--nosuch"]) == 64
    assert cli.invoke(["replay", str(red), "--bisect", "--kafka-version", "abc"]) == 128
    fake = having(GREEN)
    fake.interrupt_after = 1
    assert cli.invoke(["replay", str(red), "--bisect"]) == 128
    (runs / ZOMBIE / "campaigns").rename(runs / ZOMBIE / "gone")
    (runs / ZOMBIE / "campaigns").touch()
    assert cli.invoke(["replay", str(red), "--bisect"]) == 125
    assert "Traceback" not in capsys.readouterr().err


def test_what_was_interrupted_goes_on(red: Path, having: Having, capsys: pytest.CaptureFixture[str]) -> None:
    fake = having(RED, GREEN, GREEN)
    fake.interrupt_after = 2
    assert cli.invoke(["replay", str(red), "--times", "3"]) == 0
    fake = having(GREEN, GREEN)
    capsys.readouterr()
    assert cli.invoke(["replay", str(red), "--times", "3"]) == 0
    output = capsys.readouterr().out
    assert "resuming: 1 of 3 runs are done already" in output
    assert "came back in 1 of 3" in output
    assert len(fake.plans) == 2


def test_one_line_of_json_and_nothing_else(
    red: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    having(RED, UNKNOWN)
    assert cli.invoke(["replay", str(red), "--times", "2", "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["rate"]["count"], document["rate"]["of"], document["exit_code"]) == (1, 1, 0)
    assert [attempt["came_back"] for attempt in document["attempts"]] == [True, False]
    assert document["wanted"]["anomalies"] == ["quorum/zombie-leader"]
    assert "chatter of a run" in captured.err


def test_another_kafka_can_take_its_place(red: Path, having: Having) -> None:
    fake = having(GREEN)
    assert cli.invoke(["replay", str(red), "--kafka-version", "3.7.1"]) == 1
    (plan,) = fake.plans
    assert plan.version == "3.7.1"
    assert plan.reproduce.endswith("--kafka-version 3.7.1")


def test_the_cluster_is_kept_for_a_single_run_alone(
    red: Path, having: Having, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Path] = []
    monkeypatch.setattr(replay, "print_kept", kept.append)
    fake = having(RED)
    assert cli.invoke(["replay", str(red), "--keep", "--times", "2"]) == 64
    assert cli.invoke(["replay", str(red), "--keep"]) == 0
    assert fake.venues[0].keep
    assert len(kept) == 1


def test_of_a_run_that_was_not_judged_the_verdict_is_found_first(
    runs: Path, having: Having, capsys: pytest.CaptureFixture[str]
) -> None:
    having(UNKNOWN)
    assert cli.invoke(["replay", str(stored(runs, None))]) == 0
    assert "the verdict unknown came back in 1 of 1" in capsys.readouterr().out


def test_what_is_damaged_in_a_new_run_counts_as_failed(red: Path, having: Having, runs: Path) -> None:
    having(RED)
    assert cli.invoke(["replay", str(red), "--times", "1"]) == 0
    recorded = load_recorded(red)
    plan = plan_replay(recorded, OtherKafka(), symbolic=False)
    (broken,) = (path for path in (runs / ZOMBIE).glob("2026*Z-7") if path != red)
    (broken / "verdict.json").write_text("{")
    assert replay._attempt(1, broken, recorded, plan).failure.startswith("verdict.json is damaged")


def refusal_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.invoke(["replay", str(folder)]) == 64
    return capsys.readouterr().err


def test_a_scenario_that_is_gone_says_which_krucible_had_it(
    red: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit_identity(red, scenario="regressions/forgotten", krucible_commit="123456789abc-dirty")
    refusal = refusal_of(red, capsys)
    assert "the scenario of that run is gone" in refusal
    assert "git checkout 123456789abc\n" in refusal


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tempo": 3}, "unknown options: tempo"),
        ({"brokers": "three"}, "this one can't repeat it"),
        (
            {"node_file": [{"source": "/nowhere/agent.jar", "destination": "/a"}]},
            "no file /nowhere/agent.jar",
        ),
    ],
)
def test_options_that_do_not_fit_any_more_are_refused(
    red: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], expected: str
) -> None:
    edit_identity(red, options={"scenario": ZOMBIE, "seed": 7, **options})
    assert expected in refusal_of(red, capsys)


def test_a_topology_that_lost_the_node_is_refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(ZOMBIE, kafka_version="3.6.2")
    (fault,) = faults_of(plan.schedule)
    nemesis = Recording("nemesis")
    nemesis.fault("f1", fault, "c9", (5_000, 5_200, 30_300))
    folder = store_run(runs / ZOMBIE / "20261122T010000Z-7", plan, RED, [nemesis])
    assert "c9 is not among" in refusal_of(folder, capsys)


@pytest.mark.parametrize("file", ["run.json", "schedule.json"])
def test_a_run_that_left_too_little_is_refused(
    red: Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    (red / file).unlink()
    assert file in refusal_of(red, capsys)
    (red / file).write_text('{"schedule": "tomorrow"}')
    assert "can't be repeated" in refusal_of(red, capsys)


def test_changes_since_the_run_are_reported(runs: Path) -> None:
    plan = planned(ZOMBIE, kafka_version="3.6.2")
    (step,) = plan.schedule.steps if isinstance(plan.schedule, FixedSchedule) else ()
    earlier = Step(1_000, step.hold_ms, step.fault)
    then = msgspec.structs.replace(
        plan,
        schedule=FixedSchedule((earlier,), 38_000),
        scenario=msgspec.structs.replace(
            plan.scenario, workload=msgspec.structs.replace(plan.scenario.workload, rate=5)
        ),
    )
    folder = store_run(runs / ZOMBIE / "20261122T010000Z-7", then, RED, [Recording("nemesis")])
    notes = plan_replay(load_recorded(folder), OtherKafka(), symbolic=False).notes
    assert notes == (
        "the scenario's schedule has changed; that of krucible 123456789abc is used",
        "the scenario's workload is not that of krucible 123456789abc",
        "f1 was not injected in the recorded run: same time, its target is resolved again",
    )
    (folder / "history-runner.jsonl").unlink()
    assert "never began its load" in plan_replay(load_recorded(folder), OtherKafka(), symbolic=True).notes[1]


def test_a_replay_of_a_replay_is_not_held_to_the_scenario(red: Path, having: Having, runs: Path) -> None:
    having(RED)
    assert cli.invoke(["replay", str(red)]) == 0
    (again,) = (path for path in (runs / ZOMBIE).glob("2026*Z-7") if path != red)
    assert plan_replay(load_recorded(again), OtherKafka(), symbolic=False).notes == ()


def test_another_kafka_is_reported_and_takes_the_place_of_a_tarball(red: Path) -> None:
    edit_identity(red, options={"scenario": ZOMBIE, "seed": 7, "kafka_tarball": "/gone.tgz"})
    recorded = load_recorded(red)
    assert plan_replay(recorded, OtherKafka(), symbolic=False).plan.options.kafka_tarball == "/gone.tgz"
    instead = OtherKafka(kafka_version="3.7.1", image_source="artifacts")
    found = plan_replay(recorded, instead, symbolic=False)
    assert found.plan.options.image_from == ("artifacts", "")
    assert found.notes == ("in place of krucible/kafka:old: 3.7.1, artifacts",)
    assert replay_line(red, instead, symbolic=True) == (
        f"krucible replay {red} --symbolic --kafka-version 3.7.1 --image-source artifacts"
    )
