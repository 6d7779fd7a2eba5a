"""Plans: everything that was asked for, checked at once, and the line that asks for it again."""

import shlex
from pathlib import Path

import click
import msgspec
import pytest

from checkers.verdict.verdict import Validity
from harness.cli.runs.run import run
from harness.errors import UsageError
from harness.plan.catalogue import load_scenario
from harness.plan.loads import problems_of_load
from harness.plan.planning import RunOptions, plan_run
from harness.plan.schedule import encode, faults_of
from harness.vocabulary import (
    FixedSchedule,
    GroupsWorkload,
    LogWorkload,
    Majority,
    Mode,
    NodeFile,
    OffsetsWorkload,
    Quorum,
    RandomSchedule,
    RollingSchedule,
    Scenario,
    Stop,
)
from harness.vocabulary.version import DEFAULT_VERSION
from harness.vocabulary.workloads import OTHER_JAVA_CLIENT
from tests.harness.plan.kinds import of_kind

LINE = f"krucible run exploratory/chaos --seed 3 --kafka-version {DEFAULT_VERSION}"


def options(**given: object) -> RunOptions:
    return RunOptions(**{"scenario": "exploratory/chaos", "seed": 3} | given)  # type: ignore[arg-type]


def parsed(line: str) -> RunOptions:
    """What ``krucible run`` would make of a line."""
    program, command, *words = shlex.split(line)
    assert (program, command) == ("krucible", "run")
    with run.make_context("run", words) as context:
        given = dict(context.params)
    for name in ("again", "seeds", "keep", "dry_run", "as_json", "runs"):
        given.pop(name)
    for name in ("master", "clusters_per_host", "scratch"):
        given.pop(name)
    pairs = {name: dict(given[name]) for name in ("feature", "config")}
    return RunOptions(**(given | pairs))


def test_the_reproduce_line_carries_every_option_and_plans_the_same_bytes(tmp_path: Path) -> None:
    agent = tmp_path / "agent with blank.jar"
    agent.touch()
    asked = options(
        kafka_version="4.1.1",
        duration_s=90,
        fault=("kill", "pause"),
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=4,
        quorum=Quorum.STATIC,
        feature={"transaction.version": 0},
        config={"log.retention.ms": "a=b c"},
        jvm_option=("-Dx=1 2", "-Xmx256m"),
        node_file=(NodeFile(str(agent), "/opt/agent.jar"),),
        acks="1",
        idempotent=False,
        rate=50,
        image_source="artifacts",
    )
    plan = plan_run(asked)
    again = plan_run(parsed(plan.reproduce))

    assert again.reproduce == plan.reproduce
    assert encode(again.schedule) == encode(plan.schedule)
    assert again.scenario == plan.scenario


def test_faults_can_be_of_one_kind_alone() -> None:
    chosen = plan_run(options(fault=("stop",)))
    assert {type(fault) for fault in faults_of(chosen.schedule)} == {Stop}
    assert chosen.reproduce == f"{LINE} --fault=stop"


def test_gambits_can_be_some_of_the_scenario_s_alone() -> None:
    line = f"krucible run exploratory/gambits --seed 7 --kafka-version {DEFAULT_VERSION}"
    chosen = plan_run(RunOptions(scenario="exploratory/gambits", seed=7, gambit=("last-in-sync",)))
    assert isinstance(chosen.schedule, FixedSchedule)
    assert {one.kind for one in chosen.schedule.gambits} == {"last-in-sync"}
    assert chosen.reproduce == f"{line} --gambit=last-in-sync"


def test_defaults_stay_out_of_the_line_but_for_the_version_that_may_be_another_tomorrow() -> None:
    assert plan_run(options()).reproduce == LINE


def member_libraries(group: str, *libraries: str) -> GroupsWorkload:
    return GroupsWorkload(member_libraries={group: libraries}, modern=("group-confluent-kafka",))


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (LogWorkload(libraries=("sarama",)), "there is no client library 'sarama'"),
        (
            LogWorkload(final_clients=("sarama",)),
            "expected one of kafka-python, confluent-kafka, kafka-clients",
        ),
        (LogWorkload(libraries=()), "libraries is empty"),
        (OffsetsWorkload(libraries=()), "libraries is empty"),
        (OffsetsWorkload(libraries=("sarama",)), "there is no client library 'sarama'"),
        (LogWorkload(libraries=(OTHER_JAVA_CLIENT,)), "expected its version as java_version"),
        (LogWorkload(java_version="3.9.0"), "but no client uses kafka-clients-other"),
        (LogWorkload(libraries=(OTHER_JAVA_CLIENT,), java_version="3.4.1"), "expected 3.5.0 or newer"),
        (LogWorkload(libraries=(OTHER_JAVA_CLIENT,), java_version="3.9"), "'3.9' is not a Kafka version"),
        (
            member_libraries("group-confluent-kafka", OTHER_JAVA_CLIENT),
            "which kafka-clients-other does not offer",
        ),
        (GroupsWorkload(assignors=()), "assignors is empty, expected some of uniform, range"),
        (
            GroupsWorkload(offered=("range", "cooperative-sticky")),
            "offered is range, cooperative-sticky, expected some of range, roundrobin",
        ),
        (member_libraries("group-kafka-python", "sarama"), "there is no client library 'sarama'"),
        (member_libraries("group-kafka-python"), "of group-kafka-python is empty, expected at least one"),
        (member_libraries("group-0", "kafka-python"), "names 'group-0', which is not among groups"),
        (
            member_libraries("group-confluent-kafka", "kafka-python"),
            "group-confluent-kafka uses KIP-848's protocol, which kafka-python does not offer",
        ),
        (
            GroupsWorkload(modern=("group-kafka-python",)),
            "group-kafka-python uses KIP-848's protocol, which kafka-python does not offer",
        ),
        (
            GroupsWorkload(mixed=("group-kafka-python",)),
            "group-kafka-python uses KIP-848's protocol, which kafka-python does not offer",
        ),
        (GroupsWorkload(modern=("group-1",)), "modern names 'group-1', which is not among groups"),
        (GroupsWorkload(mixed=("group-1",)), "mixed names 'group-1', which is not among groups"),
        (GroupsWorkload(static=("group-1",)), "static names 'group-1', which is not among groups"),
    ],
)
def test_a_load_of_what_nobody_has_is_refused(workload: LogWorkload, expected: str) -> None:
    scenario = msgspec.structs.replace(load_scenario("exploratory/chaos"), workload=workload)
    assert any(expected in problem for problem in problems_of_load(scenario))


@pytest.mark.parametrize(
    ("config", "node_config", "expected"),
    [
        (
            {},
            {},
            "the topology does not set group.share.delivery.count.limit, expected 5 as the workload has it",
        ),
        (
            {"group.share.delivery.count.limit": "10"},
            {},
            "the topology has group.share.delivery.count.limit=10",
        ),
        (
            None,
            {"n1": {"group.share.record.lock.duration.ms": "9"}},
            "n1 has group.share.record.lock.duration.ms=9",
        ),
    ],
)
def test_brokers_have_the_limits_by_which_share_groups_are_judged(
    config: dict[str, str] | None, node_config: dict[str, dict[str, str]], expected: str
) -> None:
    scenario = load_scenario("exploratory/share")
    assert problems_of_load(scenario) == []
    given = scenario.topology.config if config is None else config
    topology = msgspec.structs.replace(scenario.topology, config=given, node_config=node_config)
    problems = problems_of_load(msgspec.structs.replace(scenario, topology=topology))
    assert any(problem.startswith(expected) for problem in problems), problems


def test_only_groups_of_the_load_can_get_committed_records() -> None:
    scenario = load_scenario("exploratory/share-committed")
    assert problems_of_load(scenario) == []
    workload = msgspec.structs.replace(scenario.workload, committed=("share-7",))
    problems = problems_of_load(msgspec.structs.replace(scenario, workload=workload))
    assert problems == ["committed has share-7, expected some of share-0"]


def test_all_problems_are_reported_together() -> None:
    with pytest.raises(UsageError) as caught:
        plan_run(
            options(
                kafka_version="3.7.1", quorum=Quorum.DYNAMIC, acks="1", idempotent=True, duration_s=3, rate=0
            )
        )
    assert caught.value.exit_code == 64
    text = str(caught.value)
    for part in ("dynamic quorum", "idempotence needs acks=all", "no room for a fault", "rate is 0"):
        assert part in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kafka_version": "four"}, "not a Kafka version"),
        ({"kafka_version": "3.5.0"}, "older than 3.6.2"),
        ({"acks": "2"}, "acks is '2'"),
        ({"brokers": 9}, "brokers is 9"),
        ({"mode": Mode.COMBINED, "controllers": 1, "brokers": 3}, "as many controllers as brokers"),
        ({"scenario": "smoke/partition", "duration_s": 30}, "fixed schedule"),
        ({"scenario": "smoke/partition", "fault": ("kill",)}, "faults of its own"),
        ({"gambit": ("flood",)}, "draws no gambit called flood; expected one of none"),
        ({"scenario": "exploratory/gambits", "gambit": ("nobody",)}, "expected one of all-copies, "),
        ({"fault": ("flood",)}, "called flood; expected one of partition, kill, pause, stop"),
        ({"scenario": "smoke/partition", "brokers": 1}, "needs 2 nodes"),
        ({"scenario": "regressions/kafka-15489-zombie-leader", "mode": Mode.COMBINED}, "can't be cut alone"),
        ({"scenario": "smoke/partitoin"}, "smoke/partition"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(given: dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError, match=r"(?s).*") as caught:
        plan_run(options(**given))
    assert expected in str(caught.value)


def test_versions_without_a_dynamic_quorum_get_a_static_one() -> None:
    assert plan_run(options(kafka_version="3.7.1")).scenario.topology.quorum is Quorum.STATIC
    assert plan_run(options(kafka_version="3.9.0")).scenario.topology.quorum is Quorum.DYNAMIC


def test_fewer_brokers_get_fewer_replicas() -> None:
    workload = plan_run(options(brokers=2, kafka_version="4.3.1")).scenario.workload

    assert (workload.replication_factor, workload.min_insync_replicas) == (2, 2)


def test_acks_below_all_switch_idempotence_off() -> None:
    workload = of_kind(LogWorkload, plan_run(options(acks="1")).scenario.workload)
    assert workload.idempotent is False


def test_the_zombie_is_expected_before_its_fix_only() -> None:
    name = "regressions/kafka-15489-zombie-leader"
    red = plan_run(options(scenario=name, kafka_version="3.6.2")).expectation
    green = plan_run(options(scenario=name, kafka_version="3.7.1")).expectation

    assert (red.validity, red.anomalies) == (Validity.INVALID, ("zombie-leader",))
    assert green.validity is Validity.VALID


@pytest.mark.parametrize(
    "words",
    [["--config", "novalue"], ["--feature", "a=b"], ["--node-file", "/nope:/x"], ["--node-file", "x"]],
)
def test_option_values_are_checked_where_they_are_given(words: list[str]) -> None:
    with pytest.raises(click.UsageError), run.make_context("run", ["smoke/partition", *words]):
        pass


@pytest.mark.parametrize(
    ("duration_s", "least"),
    [
        (None, {"elect-preferred": 2, "elect-unclean": 1, "reassign": 2}),
        (59, {"elect-preferred": 1, "elect-unclean": 0, "reassign": 1}),
        (29, {"elect-preferred": 0, "elect-unclean": 0, "reassign": 0}),
        (150, {"elect-preferred": 5, "elect-unclean": 2, "reassign": 5}),
    ],
)
def test_another_duration_asks_for_as_many_admin_operations_in_proportion(
    duration_s: int | None, least: dict[str, int]
) -> None:
    schedule = plan_run(
        RunOptions(scenario="exploratory/chaos", seed=1, duration_s=duration_s)
    ).scenario.schedule
    assert isinstance(schedule, RandomSchedule)
    assert schedule.operations_min == least


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        (RandomSchedule(operations={"sing": 1}), "no admin operation is called sing; expected one of elect-"),
        (RandomSchedule(changes={"hum": 1}), "no admin operation is called hum; expected one of elect-"),
        (
            RandomSchedule(operations_min={"voters": 1}),
            "at least some of voters are required",
        ),
        (
            RandomSchedule(disks={"tape": 1}),
            "no fault of a disk is called tape; expected one of broker-disk,",
        ),
        (
            RandomSchedule(kinds=("kill", "packet-loss"), majority=Majority.LOST),
            "a loss of packets takes no majority away",
        ),
        (
            RandomSchedule(disks={"power": 1}, majority=Majority.LOST),
            "faults of disks need a majority that keeps its disks",
        ),
        (RollingSchedule((), kinds=("tape",)), "no fault to draw is called tape; expected one of partition,"),
        (
            RollingSchedule((), kinds=("kill", "packet-loss"), away_chance=0.5),
            "a loss of packets takes no node away",
        ),
    ],
)
def test_a_schedule_that_can_not_be_drawn_is_reported(
    monkeypatch: pytest.MonkeyPatch, schedule: RandomSchedule | RollingSchedule, problem: str
) -> None:
    scenario = Scenario(summary="s", why="w", schedule=schedule)
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _: scenario)
    with pytest.raises(UsageError) as caught:
        plan_run(options())
    assert problem in caught.value.got
