"""Which versions of Kafka a run needs: those that nodes begin with, and those that upgrades bring."""

import msgspec
import pytest

from harness.errors import UsageError
from harness.plan import planning
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.planning import RunOptions, plan_run
from harness.plan.schedule import Planned
from harness.plan.upgrades import later_versions, other_versions, upgrade_problems, versions_of
from harness.vocabulary import (
    Await,
    FixedSchedule,
    GroupsWorkload,
    Heal,
    Inject,
    InSync,
    Kill,
    LeadsQuorum,
    OffsetsWorkload,
    Perform,
    RollingSchedule,
    ScriptedSchedule,
    ShareWorkload,
    Step,
    Topology,
    TxnWorkload,
    UpdateFeature,
    Upgrade,
    VotersCaughtUp,
    Workload,
    brokers,
)
from harness.vocabulary.version import DEFAULT_VERSION, parse_version
from harness.vocabulary.workloads import OLDEST_VERSION

THERE_AND_BACK = ScriptedSchedule(
    (Inject("up", Upgrade()), Heal("up"), Inject("down", Upgrade(version="4.1.1")), Heal("down")), 10
)
OLD = Topology(start_version="3.9.0")


@pytest.mark.parametrize(
    ("schedule", "versions"),
    [
        (THERE_AND_BACK, ("4.1.1", "4.3.1")),
        (FixedSchedule((Step(0, 5, Upgrade(version="4.0.0")), Step(9, 5, Kill())), 20), ("4.0.0",)),
        (FixedSchedule((Step(0, 5, Kill()),), 20), ()),
    ],
    ids=["script", "fixed", "no upgrade"],
)
def test_the_versions_that_upgrades_bring(schedule: Planned, versions: tuple[str, ...]) -> None:
    assert later_versions(schedule, "4.3.1") == versions


def test_every_version_of_a_run_is_known() -> None:
    assert versions_of(THERE_AND_BACK, OLD, "4.3.1") == {"3.9.0", "4.1.1", "4.3.1"}
    assert other_versions(OLD, "4.3.1") == dict.fromkeys(("n1", "n2", "n3"), "3.9.0")
    assert other_versions(OLD, "3.9.0") == other_versions(Topology(), "4.3.1") == {}


def test_a_rolling_upgrade_wants_the_images_of_both_versions() -> None:
    plan = plan_run(RunOptions(scenario="upgrades/rolling", seed=1))
    assert [image.version for image in plan.images] == [DEFAULT_VERSION, "3.9.0"]
    earlier = plan_run(RunOptions(scenario="upgrades/rolling", seed=1, kafka_version="4.1.1"))
    assert [image.version for image in earlier.images] == ["4.1.1", "3.9.0"]


def test_what_a_version_can_not_do_is_reported_before_it_is_brought() -> None:
    back = ScriptedSchedule((Inject("down", Upgrade(version="3.8.1")),), 10)
    (problem,) = upgrade_problems(back, OLD, "4.3.1", None)
    assert problem.startswith("Kafka 3.8.1 has no dynamic quorum")
    nothing = ScriptedSchedule((Inject("down", Upgrade(version="latest")),), 10)
    assert upgrade_problems(nothing, OLD, "4.3.1", None) == ["'latest' is not a Kafka version such as 4.3.1"]
    assert upgrade_problems(THERE_AND_BACK, OLD, "4.3.1", None) == []


def test_each_node_has_a_version_that_supports_the_load_all_the_time() -> None:
    asked = RunOptions(scenario="exploratory/upgrade-share", seed=1, from_version="4.1.1")
    with pytest.raises(UsageError) as caught:
        plan_run(asked)
    assert "some node has Kafka 4.1.1, and 4.2.0 is the first that has this load" in str(caught.value.got)
    assert plan_run(msgspec.structs.replace(asked, from_version="4.2.0")).scenario.topology.start_version
    problems = upgrade_problems(THERE_AND_BACK, Topology(), "4.3.1", None, "4.2.0")
    assert problems == ["some node has Kafka 4.1.1, and 4.2.0 is the first that has this load"]


@pytest.mark.parametrize(
    ("workload", "since"),
    [
        (GroupsWorkload(), OLDEST_VERSION),
        (GroupsWorkload(modern=("group-confluent-kafka",)), "4.0.0"),
        (GroupsWorkload(mixed=("group-confluent-kafka",)), "4.0.0"),
        (OffsetsWorkload(), OLDEST_VERSION),
        (OffsetsWorkload(emptied_interval_ms=400), "4.0.0"),
        (ShareWorkload(), "4.2.0"),
        (TxnWorkload(), OLDEST_VERSION),
    ],
)
def test_the_first_version_that_supports_a_load(workload: Workload, since: str) -> None:
    assert workload.versions_min == since


def test_no_scenario_supports_versions_that_do_not_support_its_load() -> None:
    for name in scenario_names():
        scenario = load_scenario(name)
        first = scenario.topology.start_version or scenario.versions_min
        assert parse_version(first) >= parse_version(scenario.workload.versions_min), name


@pytest.mark.parametrize(
    ("load", "features"),
    [
        ("", ["metadata.version"]),
        ("-txn", ["metadata.version", "transaction.version"]),
        ("-groups", ["metadata.version", "group.version"]),
        ("-groups-modern", ["metadata.version", "group.version"]),
        ("-share", ["metadata.version", "share.version"]),
    ],
)
def test_the_next_node_goes_when_all_replicas_of_the_load_are_in_sync(load: str, features: list[str]) -> None:
    scenario = load_scenario(f"exploratory/upgrade{load}")
    schedule, workload = scenario.schedule, scenario.workload
    assert isinstance(schedule, RollingSchedule)
    conditions = [move.condition for move in schedule.between if isinstance(move, Await)]
    places = {(each.topic, each.partition, each.members) for each in conditions if isinstance(each, InSync)}
    assert places == {
        (topic.name, partition, brokers(3))
        for topic in workload.topics
        for partition in range(workload.partitions)
    }
    assert {LeadsQuorum(), VotersCaughtUp()} <= set(conditions)
    assert list(schedule.features) == features


@pytest.mark.parametrize(("scenario", "nodes"), [("upgrades/chain", 6), ("upgrades/chain-combined", 3)])
def test_a_chain_gives_every_node_each_version_in_turn(scenario: str, nodes: int) -> None:
    plan = plan_run(RunOptions(scenario=scenario, seed=1))
    moves = plan.schedule.moves if isinstance(plan.schedule, ScriptedSchedule) else ()
    faults = [move.fault for move in moves if isinstance(move, Inject)]
    upgrades = [(fault.version, fault.target) for fault in faults if isinstance(fault, Upgrade)]
    assert [version for version, _ in upgrades] == ["4.1.1"] * nodes + ["4.3.1"] * nodes + [None] * nodes
    stages = [{str(target) for _, target in upgrades[at : at + nodes]} for at in range(0, 3 * nodes, nodes)]
    assert [len(stage) for stage in stages] == [nodes] * 3
    raised = [move.operation for move in moves if isinstance(move, Perform)]
    levels = [operation.feature for operation in raised if isinstance(operation, UpdateFeature)]
    assert levels == ["metadata.version"] * 3 + ["transaction.version", "group.version"]
    assert [image.version for image in plan.images] == [DEFAULT_VERSION, "3.9.0", "4.1.1", "4.3.1"]


def test_a_bug_is_of_one_version() -> None:
    problems = upgrade_problems(THERE_AND_BACK, OLD, "4.3.1", "min-isr-ignored")
    assert problems == ["a seeded bug is of one version of Kafka, these nodes have 3.9.0, 4.1.1, 4.3.1"]
    assert upgrade_problems(FixedSchedule((), 1), Topology(), "4.3.1", "min-isr-ignored") == []


def test_a_scenario_with_an_upgrade_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    written = load_scenario("upgrades/rolling")
    back = ScriptedSchedule((Inject("down", Upgrade(version="3.8.1")),), 10)
    bad = msgspec.structs.replace(written, schedule=back)
    monkeypatch.setattr(planning, "load_scenario", lambda _: bad)
    with pytest.raises(UsageError) as caught:
        plan_run(RunOptions(scenario="upgrades/rolling", seed=1))
    assert "Kafka 3.8.1 has no dynamic quorum" in str(caught.value.got)
