"""What scenarios expect of which version and feature levels, and the page that says so."""

import json

import pytest
from msgspec.structs import replace

from checkers.verdict.verdict import Validity
from harness import cli
from harness.cli.runs import catalogue_page
from harness.cli.runs.catalogue_page import render_catalogue
from harness.plan.catalogue import (
    AS_GOOD,
    Forecast,
    expectation_for,
    folder_story,
    forecasts_of,
    load_scenario,
    scenario_names,
)
from harness.plan.schedule import moves_replicas, plan
from harness.vocabulary import (
    AlterTopic,
    Await,
    DiskKind,
    Expectation,
    FixedSchedule,
    InSync,
    Kill,
    LeaderIs,
    Mode,
    RandomSchedule,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Step,
    Target,
    TimedOperation,
    Topology,
)
from harness.vocabulary.version import parse_version

GAP = "eligible.leader.replicas.version"
RED_OFF = Expectation(Validity.INVALID, ("known-gap",), features={GAP: 0}, why="a | b")
RED_OLD = Expectation(Validity.INVALID, ("known-gap",), before="4.0.0")
GREEN_ON = Expectation(Validity.VALID, features={GAP: 1})


def scenario(*expectations: Expectation) -> Scenario:
    return Scenario("S.", "W.", FixedSchedule((), 1_000), versions_min="3.7.0", expectations=expectations)


@pytest.mark.parametrize(
    ("version", "features", "expected"),
    [
        ("3.9.0", {}, RED_OLD),
        ("3.9.0", {GAP: 1, "x": 2}, GREEN_ON),
        ("4.3.1", {GAP: 0, "x": 2}, RED_OFF),
        ("4.3.1", {"x": 0}, AS_GOOD),
        ("4.0.0", {}, AS_GOOD),
    ],
)
def test_an_expectation_applies_to_its_versions_and_feature_levels(
    version: str, features: dict[str, int], expected: Expectation
) -> None:
    assert expectation_for(scenario(GREEN_ON, RED_OLD, RED_OFF), version, features) == expected


@pytest.mark.parametrize(
    ("version", "begins", "nodes", "expected"),
    [
        ("4.2.0", "4.1.1", {}, Validity.INVALID),
        ("4.2.0", "4.2.0", {"n2": "4.1.1"}, Validity.INVALID),
        ("4.2.0", "4.2.0", {}, Validity.VALID),
        ("4.2.0", None, {}, Validity.VALID),
        ("4.2.1", "4.1.1", {}, Validity.VALID),
    ],
)
def test_an_expectation_of_an_upgrade_depends_on_the_versions_that_nodes_begin_with(
    version: str, begins: str | None, nodes: dict[str, str], expected: Validity
) -> None:
    mixed = Expectation(Validity.INVALID, ("x",), before="4.2.1", start_before="4.2.0")
    topology = Topology(start_version=begins, node_versions=nodes)
    upgraded = replace(scenario(mixed), topology=topology)
    assert expectation_for(upgraded, version, {}).validity is expected
    assert list(forecasts_of(upgraded)) == [
        Forecast("3.7.0", "4.2.1", mixed),
        Forecast("3.7.0", None, AS_GOOD),
    ]


def test_forecasts_run_from_the_oldest_version_on_and_leave_out_what_never_applies() -> None:
    too_old = Expectation(Validity.INVALID, before="3.7.0")
    shadowed = Expectation(Validity.INVALID, before="3.9.0", features={"x": 1})
    everything = Expectation(Validity.UNKNOWN)
    assert list(forecasts_of(scenario(too_old, GREEN_ON, RED_OLD, shadowed, RED_OFF))) == [
        Forecast("3.7.0", None, GREEN_ON),
        Forecast("3.7.0", "4.0.0", RED_OLD),
        Forecast("4.0.0", None, RED_OFF),
        Forecast("4.0.0", None, AS_GOOD),
    ]
    assert list(forecasts_of(scenario(everything, RED_OFF))) == [Forecast("3.7.0", None, everything)]


@pytest.mark.parametrize("name", scenario_names())
def test_the_first_forecast_that_fits_is_what_a_run_expects(name: str) -> None:
    tried = load_scenario(name)
    versions = (
        *("3.5.2", "3.6.2", "3.7.1", "3.8.0", "3.9.0", "3.9.1"),
        *("4.0.0", "4.0.1", "4.1.1", "4.2.0", "4.2.1", "4.3.1", "4.4.0"),
    )
    for version in versions:
        if parse_version(version) < parse_version(tried.versions_min):
            continue
        for features in ({}, {GAP: 0}, {GAP: 1}):
            begins = min(map(parse_version, tried.topology.first_versions(version).values()))
            fitting = [
                one.expectation
                for one in forecasts_of(tried)
                if parse_version(one.since) <= parse_version(version)
                and (one.before is None or parse_version(version) < parse_version(one.before))
                and one.expectation.features.items() <= features.items()
                and (
                    one.expectation.start_before is None
                    or begins < parse_version(one.expectation.start_before)
                )
            ]
            assert fitting[0] == expectation_for(tried, version, features)


def test_random_scenarios_that_move_replicas_know_that_a_listing_may_be_uncommitted() -> None:
    for name in scenario_names():
        scenario = load_scenario(name)
        if isinstance(scenario.schedule, RandomSchedule):
            drawn = (plan(scenario.schedule, scenario.topology, seed) for seed in range(1, 9))
            known = any("reassignment-uncommitted" in one.accepted for one in scenario.expectations)
            assert known == any(map(moves_replicas, drawn)), name


def test_drawn_faults_of_share_groups_know_of_delayed_writes_before_they_were_corrected() -> None:
    for name in scenario_names():
        scenario = load_scenario(name)
        if isinstance(scenario.workload, ShareWorkload) and isinstance(scenario.schedule, RandomSchedule):
            known = {
                version: "share-state-start-back" in expectation_for(scenario, version, {}).accepted
                for version in ("4.3.1", "4.4.0")
            }
            assert known == {"4.3.1": True, "4.4.0": False}, name


def test_drawn_loads_of_share_groups_know_that_a_state_may_be_initialised_again() -> None:
    for name in scenario_names():
        scenario = load_scenario(name)
        if isinstance(scenario.workload, ShareWorkload) and name.startswith("exploratory/"):
            for version in ("4.3.1", "4.4.0"):
                expected = expectation_for(scenario, version, {})
                assert "share-state-initialised-again" in expected.alone, name
                assert "delivered-after-acknowledgement" in expected.following, name


def test_only_moved_leaders_of_share_groups_may_confirm_what_was_refused() -> None:
    """It is known from findings/fenced-write; elsewhere an early answer would be another defect."""
    early = "share-answered-early"
    for version in ("4.3.1", "4.4.0"):
        expected = {name: expectation_for(load_scenario(name), version, {}) for name in scenario_names()}
        may = {
            name for name, one in expected.items() if one.validity is Validity.VALID and early in one.alone
        }
        assert may == {"exploratory/share-moves"}
        assert "delivered-after-acknowledgement" in expected["exploratory/share-moves"].following


def test_scripts_await_states_only_of_partitions_that_are_observed() -> None:
    """Observers ask for the topics of the workload; of another topic, no such condition is ever met."""
    for name in scenario_names():
        scenario = load_scenario(name)
        moves = scenario.schedule.moves if isinstance(scenario.schedule, ScriptedSchedule) else ()
        conditions = [move.condition for move in moves if isinstance(move, Await)]
        awaited = {one.topic for one in conditions if isinstance(one, LeaderIs | InSync | ReplicasAre)}
        assert awaited <= {topic.name for topic in scenario.workload.topics}, name


def test_only_modules_in_folders_are_scenarios() -> None:
    assert "smoke/partition" in scenario_names()
    assert "known-outcomes" not in scenario_names()
    assert folder_story("smoke") == "Quick and simple: does the whole machine work?"


def test_the_page_has_every_scenario_with_its_command() -> None:
    page = render_catalogue()
    for name in scenario_names():
        tried = load_scenario(name)
        section = page.split(f"\n### {name}\n")[1].split("\n### ")[0]
        assert tried.summary in section
        assert tried.why in section
        assert f"- Ticket: {tried.ticket}\n" in section
        assert f"```sh\nkrucible run {name} --seed 1\n```" in section
    zombie = page.split("### regressions/kafka-15489-zombie-leader\n")[1].split("\n### ")[0]
    assert "- Cluster: 3 controllers and 3 brokers, static quorum\n" in zombie
    assert "- Schedule: 38 s, 1 fault at given times\n" in zombie
    assert "| from 3.6.2, before 3.7.0 | 🔴 invalid with `zombie-leader` | KAFKA-15489: " in zombie
    assert "| from 3.7.0 | 🟢 valid |  |\n" in zombie
    upgraded = page.split("### regressions/kafka-19192-old-bootstrap-file\n")[1].split("\n### ")[0]
    assert "| from 4.0.0, before 4.0.1, upgraded from before 4.0.0 | 🔴 invalid with " in upgraded


def test_unusual_settings_of_a_scenario_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = Topology(
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=1,
        initial_voters=2,
        disk=DiskKind.LOOP_EXT4,
        features={GAP: 0},
        config={"a": "b"},
        node_config={"c1": {"c": "d"}},
        start_version="4.1.1",
        node_versions={"b1": "4.2.0"},
    )
    schedule = FixedSchedule(
        (Step(1, 2, Kill(Target.RANDOM)),), 1_500, (TimedOperation(1, AlterTopic("log-0", "x", "y")),)
    )
    odd = Scenario("S.", "W.", schedule, topology, expectations=(RED_OFF,))
    monkeypatch.setattr(catalogue_page, "scenario_names", lambda: ("smoke/odd",))
    monkeypatch.setattr(catalogue_page, "load_scenario", lambda _name: odd)
    page = render_catalogue()
    assert (
        "- Cluster: 3 controllers and 1 broker, dynamic quorum, initial voters c1 and c2, disks `loop-ext4`, "
        f"`{GAP}=0`, `a=b`, nodes begin on 4.1.1, b1 on 4.2.0, `c=d` on c1\n"
    ) in page
    assert "- Schedule: 1.5 s, 1 fault and 1 admin operation at given times\n" in page
    assert f"| from 3.6.2, `{GAP}=0` | 🔴 invalid with `known-gap` | a \\| b |\n" in page
    assert "- Ticket: none\n" in page


def test_the_list_prints_the_page_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["list", "--markdown"]) == 0
    assert capsys.readouterr().out == render_catalogue()
    assert cli.invoke(["list", "--markdown", "--json"]) == 64
    assert "exclude each other" in capsys.readouterr().err
    assert cli.invoke(["list", "--scenarios", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)["scenarios"]}
    zombie = listed["regressions/kafka-15489-zombie-leader"]
    assert (zombie["ticket"], zombie["expectations"][0]["before"]) == ("KAFKA-15489", "3.7.0")
