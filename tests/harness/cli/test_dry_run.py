"""``run --dry-run`` shows what a run would do and starts nothing."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from harness import cli
from harness.cli.runs import dry_run_document
from harness.cli.runs.dry_run import plan_text
from harness.cli.runs.dry_run_document import document_of
from harness.plan.catalogue import scenario_names
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.plan.schedule import blinks_of, faults_alone, gambits_of
from harness.vocabulary import Mode
from harness.vocabulary.scenario import FixedSchedule
from harness.vocabulary.version import DEFAULT_VERSION

GUIDE = Path(__file__).parents[3] / "docs/write-a-scenario.md"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))


def test_schedule_targets_and_assumptions_are_printed_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["run", "smoke/partition", "--seed", "3", "--dry-run"]) == 0
    assert capsys.readouterr().out == (
        f"dry run    smoke/partition, seed 3, Kafka {DEFAULT_VERSION}; nothing is started\n"
        "cluster    3 combined nodes, dynamic quorum: n1, n2, n3\n"
        "load       log, 200 operations a second, 6 partitions with 3 replicas, "
        "min.insync.replicas=2, acks=all\n"
        "duration   45 s\n"
        "schedule         4 s  f1      partition pattern=isolate-one target=active-controller, for 8 s\n"
        "                18 s  f2      kill target=partition-leader, for 7 s\n"
        "                31 s  f3      pause target=random, for 7 s\n"
        "targets    active-controller: one of n1, n2, n3, chosen when the fault begins\n"
        "           partition-leader: one of n1, n2, n3, chosen when the fault begins\n"
        "           random: one of n1, n2, n3, chosen when the fault begins\n"
        "assumed    at least 100 records acknowledged before each fault\n"
        "           at least 5 records sent during each fault\n"
        "           at least 100 records acknowledged after each fault\n"
        "           each fault in force for at least 5 s\n"
        "           recovery within 60 s after the faults\n"
        "           lowered: the node that is cut off may lead every partition\n"
        "expected   valid\n"
        f"reproduce  krucible run smoke/partition --seed 3 --kafka-version {DEFAULT_VERSION} "
        f"--runs {tmp_path}/runs\n"
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", scenario_names())
def test_every_fault_and_gambit_of_every_scenario_is_listed(name: str) -> None:
    plan = plan_run(RunOptions(scenario=name, seed=7))
    text = plan_text(plan)
    for fault in faults_alone(plan.schedule):
        assert f"{fault.__struct_config__.tag} " in text
    for gambit in gambits_of(plan.schedule):
        assert f"gambit {gambit.kind}, about" in text
    assert ("gambits: each chooses" in text) == bool(gambits_of(plan.schedule))
    assert f"reproduce  {plan.reproduce}" in text
    assert "`" not in text
    every_event_is_in_the_document(plan)


def test_roles_are_given_to_nodes_that_can_have_them() -> None:
    plan = plan_run(
        RunOptions(scenario="smoke/partition", seed=3, mode=Mode.ISOLATED, controllers=3, brokers=2)
    )
    text = plan_text(plan)
    assert "active-controller: one of c1, c2, c3, chosen" in text
    assert "partition-leader: one of b1, b2, chosen" in text
    assert "random: one of c1, c2, c3, b1, b2, chosen" in text


def test_what_is_lowered_and_what_is_expected_are_reported() -> None:
    grow = plan_text(plan_run(RunOptions(scenario="kips/kip-853-grow", seed=3)))
    assert "c3: named by the scenario" in grow
    assert " 13.  await condition=(is-observer member=c5)" in grow
    chaos = plan_text(plan_run(RunOptions(scenario="exploratory/chaos", seed=3)))
    assert "at least 2 answers to reassign" in chaos
    assert " request elect-some type=preferred\n" in chaos
    short = plan_text(plan_run(RunOptions(scenario="exploratory/chaos", seed=3, duration_s=30)))
    assert "at least 1 answer to reassign" in short
    assert "at least 0 " not in short
    lowered = [
        plan
        for plan in (plan_run(RunOptions(scenario=name, seed=1)) for name in scenario_names())
        if plan.scenario.assumptions.why_lowered
    ]
    assert lowered
    for plan in lowered:
        assert f"lowered: {plan.scenario.assumptions.why_lowered}" in plan_text(plan)
    zombie = RunOptions(scenario="regressions/kafka-15489-zombie-leader", seed=1, kafka_version="3.6.2")
    assert "expected   invalid, with " in plan_text(plan_run(zombie))
    share = plan_text(plan_run(RunOptions(scenario="exploratory/share", seed=1)))
    assert "invalid with nothing but share-state-initialised-again, and with that acknowledged-twice" in share


@pytest.mark.parametrize("words", [["--seeds", "1..2"], ["--keep"]])
def test_it_is_for_one_seed_and_keeps_no_cluster(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["run", "smoke/partition", "--dry-run", *words]) == 64
    assert "--dry-run is for a single seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--seed", "x"], "a whole number from 0 up to 9223372036854775807"),
        (["--seed", "-1"], "a whole number from 0 up to 9223372036854775807"),
        (["--rate", "0"], "a whole number from 1 up to 1000000"),
        (["--duration-s", "1m"], "a whole number up to 86400"),
    ],
)
def test_what_is_no_whole_number_is_reported_in_words_of_ours(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["run", "smoke/partition", "--dry-run", *words]) == 64
    option, value = words
    assert capsys.readouterr().err.startswith(
        "krucible: an option or a value is wrong or missing\n"
        f"  got:      {option} {value!r}\n  expected: {option} with {expected}\n"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["--jvm-option=-Xmx300m", "--jvm-option=-Dx=1"]),
        (["--jvm-option", "-Xss1m"], ["--jvm-option=-Xss1m"]),
    ],
)
def test_the_environment_gives_options_of_the_jvm_unless_the_command_does(
    words: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that repeats the run has them, so it does not depend on the environment."""
    monkeypatch.setenv("KRUCIBLE_JVM_OPTIONS", "-Xmx300m  -Dx=1")
    assert cli.invoke(["run", "smoke/partition", "--seed", "3", "--dry-run", "--json", *words]) == 0
    reproduce = json.loads(capsys.readouterr().out)["reproduce"].split()
    assert [word for word in reproduce if word.startswith("--jvm-option")] == expected


def test_json_has_the_versions_that_nodes_begin_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["run", "upgrades/rolling", "--seed", "3", "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    nodes = ("c1", "c2", "c3", "b1", "b2", "b3")
    assert document["cluster"]["first_versions"] == dict.fromkeys(nodes, "3.9.0")
    assert document["cluster"]["node_config"] == {}


def test_json_is_one_document_with_the_same_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["run", "smoke/partition", "--seed", "3", "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    first = document["schedule"][0]
    assert (first["at_ms"], first["what"], first["name"], first["kind"]) == (
        4_000,
        "fault",
        "f1",
        "partition",
    )
    assert (first["hold_ms"], first["lasts_ms"]) == (8_000, None)
    assert first["details"]["pattern"] == "isolate-one"
    assert [event["kind"] for event in document["schedule"]] == ["partition", "kill", "pause"]
    assert document["targets"][1] == {"target": "partition-leader", "nodes": ["n1", "n2", "n3"]}
    assert document["assumptions"]["fault_held_ms"] == 5_000
    assert document["load"] == {
        "workload": "log",
        "rate_per_s": 200,
        "partitions": 6,
        "replication_factor": 3,
        "min_insync_replicas": 2,
        "acks": "all",
    }
    assert document["expected"] == {"verdict": "valid", "anomalies": []}
    assert document["reproduce"].endswith(f"--kafka-version {DEFAULT_VERSION} --runs {tmp_path}/runs")
    assert not (tmp_path / "runs").exists()


def every_event_is_in_the_document(plan: RunPlan) -> None:
    """In the order of time; those of a script have no times."""
    document = msgspec.json.decode(document_of(plan), type=dry_run_document.Document)
    schedule = plan.schedule
    times = [event.at_ms for event in document.schedule]
    if isinstance(schedule, FixedSchedule):
        parts = (schedule.steps, schedule.acts, schedule.gambits, blinks_of(schedule))
        assert len(times) == sum(map(len, parts))
        assert None not in times
        assert times == sorted(times, key=lambda at_ms: at_ms or 0)
    else:
        assert times == [None] * len(schedule.moves)
    assert (document.seed, document.duration_ms, document.reproduce) == (
        7,
        schedule.duration_ms,
        plan.reproduce,
    )


def test_the_guide_has_every_name_of_the_document() -> None:
    section = GUIDE.read_text().partition("## The plan as JSON")[2].partition("\n## ")[0]
    kinds = (
        "Document",
        "PlannedCluster",
        "PlannedLoad",
        "ScheduleEvent",
        "PossibleTarget",
        "Assumed",
        "Expected",
    )
    names = {name for kind in kinds for name in getattr(dry_run_document, kind).__struct_fields__}
    assert names <= set(re.findall(r"`(\w+)`", section))


def test_json_is_for_a_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["run", "smoke/partition", "--json"]) == 64
    assert "--json is for --dry-run" in capsys.readouterr().err
