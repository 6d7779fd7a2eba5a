"""Which runs ``krucible sensitivity`` plans, and how far a bug came in one."""

from pathlib import Path

import msgspec
import pytest

from harness.campaigns.sensitivity import planning
from harness.campaigns.sensitivity.planning import (
    Controls,
    RunsPerBug,
    Slot,
    drawn_runs,
    draws_of,
    fits,
    in_order,
    slots,
)
from harness.plan.catalogue import load_scenario
from harness.plan.planning import plan_run, reproduce_line
from harness.plan.presets import PRESETS, Preset, PresetScenario
from harness.plan.qualification import needs_java
from harness.seeded_bugs.catalogue import seeded_bugs
from harness.seeded_bugs.header import JAVA_LOADS, Area, SeededBug
from harness.seeded_bugs.reach import stage_in
from harness.seeded_bugs.traces import BugStage
from harness.vocabulary.administration import Member, broker, controller
from harness.vocabulary.faults import Kill, LossPattern, PacketLoss, Partition, Pattern, Target
from harness.vocabulary.gambits import AddPart, RemovePart
from harness.vocabulary.topology import Among, Mode, Role
from results.sensitivity import BugReach

BUDGET = RunsPerBug(3, 40)
LATE = "commit-not-applied"
NIGHTLY = PRESETS["nightly"]


def bug(
    name: str = "forgets",
    faults: str = "",
    workloads: str = "log",
    node: Role = Role.BROKER,
    area: Area = Area.REPLICATION,
) -> SeededBug:
    return SeededBug(
        name=name,
        area=area,
        summary="A leader forgets.",
        breaks="What was taken is kept.",
        source="KIP-1",
        faults=tuple(faults.split()),
        workloads=tuple(workloads.split()),
        anomalies=("lost-write",),
        versions=("4.3.1",),
        nodes=(node,),
        rules="",
    )


def planned(*bugs: SeededBug, seed: int = 1, preset: Preset = NIGHTLY) -> tuple[Slot, ...]:
    return slots(bugs, BUDGET, preset, "4.3.1", seed)


def lines(some: tuple[Slot, ...]) -> list[str]:
    return [reproduce_line(options) for slot in some for options in slot.both]


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    bugs = [bug("one"), bug("two", "kill"), bug("three", workloads="txn copy")]
    assert lines(planned(*bugs)) == lines(planned(*bugs))
    assert lines(planned(*bugs)) != lines(planned(*bugs, seed=2))


def test_the_plan_is_the_same_on_every_machine() -> None:
    (first, *_rest) = lines(planned(bug(workloads="metadata")))
    ran = "krucible run exploratory/gambits-metadata --seed 314570218 --kafka-version 4.3.1 --duration-s 40 "
    assert first == f"{ran}--mode isolated"


def test_every_run_with_a_bug_has_a_control_that_is_the_same_run_without_it() -> None:
    some = planned(bug("one"), bug("two"))
    for slot in some:
        assert slot.seeded.seeded_bug == slot.bug.name
        assert msgspec.structs.replace(slot.seeded, seeded_bug=None) == slot.control
        assert set(map(reproduce_line, slot.both)) == {
            reproduce_line(slot.seeded),
            reproduce_line(slot.control),
        }
    controls = [reproduce_line(slot.control) for slot in some]
    assert len(set(controls)) == len(controls) == 6


def test_all_bugs_have_their_first_run_before_any_has_its_second() -> None:
    bugs = [bug(f"bug-{letter}") for letter in "abcdefgh"]
    some = planned(*bugs)
    assert [slot.number for slot in some] == [1] * 8 + [2] * 8 + [3] * 8
    rounds = [[slot.bug.name for slot in some[at : at + 8]] for at in (0, 8, 16)]
    assert len({tuple(names) for names in rounds}) == 3
    assert {slot.control_first for slot in some} == {True, False}


def test_a_smaller_budget_is_the_beginning_of_a_larger_one() -> None:
    bugs = [one for one in seeded_bugs().values() if "4.3.1" in one.versions]
    whole = slots(bugs, RunsPerBug(3, 120), NIGHTLY, "4.3.1", 1)
    assert lines(slots(bugs, RunsPerBug(1, 120), NIGHTLY, "4.3.1", 1)) == lines(whole[: len(bugs)])


def test_controls_come_between_the_others_after_them_alone_or_not_at_all() -> None:
    some = planned(bug("one"), bug("two"))
    seeded, controls = [slot.seeded for slot in some], [slot.control for slot in some]
    between = [options for _slot, options in in_order(some, Controls.BETWEEN)]
    assert between == [options for slot in some for options in slot.both]
    assert [options for _slot, options in in_order(some, Controls.AFTER)] == seeded + controls
    assert [options for _slot, options in in_order(some, Controls.ONLY)] == controls
    assert [options for _slot, options in in_order(some, Controls.NONE)] == seeded


def test_what_is_drawn_for_a_bug_does_not_depend_on_the_others() -> None:
    alone = lines(planned(bug("one")))
    among = planned(bug("zero"), bug("one"), bug("two"))
    assert lines(tuple(slot for slot in among if slot.bug.name == "one")) == alone


def test_a_scenario_has_the_load_of_the_bug_and_draws_a_fault_that_it_takes() -> None:
    chaos, txn = "exploratory/chaos", "exploratory/txn"
    drawn = {"kill", "partition", "wipe-disk", "change-voters", "reassign-some", "alter-some"}
    assert drawn <= draws_of(chaos).keys()
    assert fits(bug(), chaos)
    assert not fits(bug(), txn)
    assert fits(bug(faults="kill", workloads="txn"), txn)
    assert not fits(bug(faults="power-loss", workloads="txn"), txn)
    assert draws_of("disks/power-loss") == {}


def test_a_bug_in_deletions_takes_a_load_that_deletes() -> None:
    deleting = bug(workloads="delete-records")
    assert fits(deleting, "exploratory/gambits-deletions")
    assert not fits(deleting, "exploratory/chaos")
    assert fits(bug(workloads="log"), "exploratory/gambits-deletions")


def new_in(name: str, other: str) -> set[str]:
    return draws_of(f"exploratory/{name}").keys() - draws_of(f"exploratory/{other}").keys()


def test_what_gambits_strike_and_ask_for_is_drawn_too() -> None:
    assert "reassign" in new_in("gambits-reassignments", "gambits-txn")
    assert "power-loss" in new_in("gambits-power", "gambits")
    assert "alter-topic" in draws_of("exploratory/gambits-configs")


def test_voters_that_gambits_wipe_and_change_are_drawn_too() -> None:
    assert {"wipe-disk", "add-voter", "remove-voter"} <= draws_of("exploratory/gambits-voters").keys()
    assert planning._tag_of_chosen(AddPart("voter-1")) == "add-voter"
    assert planning._tag_of_chosen(RemovePart("voter-1")) == "remove-voter"


def test_a_bug_of_brokers_takes_what_hits_brokers() -> None:
    power, copies = "exploratory/gambits-power", "exploratory/gambits-copies-power"
    assert draws_of(power)["power-loss"] > draws_of(power, Role.BROKER).get("power-loss", 0)
    assert draws_of(copies, Role.BROKER)["power-loss"] > 0
    assert fits(bug(faults="power-loss", node=Role.CONTROLLER), power)
    assert not fits(bug(faults="power-loss"), power)
    assert fits(bug(faults="power-loss"), copies)
    chaos = "exploratory/chaos"  # where every controller is a broker too
    assert draws_of(chaos) == draws_of(chaos, Role.BROKER) == draws_of(chaos, Role.CONTROLLER)


def test_a_bug_of_the_quorum_takes_what_hits_controllers() -> None:
    power, copies = "exploratory/gambits-power", "exploratory/gambits-copies-power"
    voting = bug(faults="power-loss", node=Role.CONTROLLER, area=Area.KRAFT)
    assert fits(voting, power)
    assert not fits(voting, copies)
    assert fits(bug(faults="power-loss", node=Role.CONTROLLER), copies)


@pytest.mark.parametrize(
    ("at", "role"),
    [
        (Target.ACTIVE_CONTROLLER, Role.CONTROLLER),
        (Target.PARTITION_LEADER, Role.BROKER),
        (Target.RANDOM, None),
        (controller(1), Role.CONTROLLER),
        (broker(1), Role.BROKER),
        ("voter-1", Role.CONTROLLER),
        ("follower-1", Role.BROKER),
    ],
)
def test_a_fault_hits_whom_it_is_for(at: Target | Member | str, role: Role | None) -> None:
    assert planning._hit_by(at, Kill()) is role


@pytest.mark.parametrize("fault", [Partition(Pattern.HALVES), PacketLoss(LossPattern.MESH)])
def test_what_is_cut_among_nodes_of_one_role_hits_them_alone(fault: Partition | PacketLoss) -> None:
    roles = {Among.CONTROLLERS: Role.CONTROLLER, Among.BROKERS: Role.BROKER, Among.ALL: None}
    for among, role in roles.items():
        cut = msgspec.structs.replace(fault, among=among)
        assert planning._hit_by(Target.RANDOM, cut) is role


def test_loads_that_only_some_scenarios_have_are_asked_for_by_a_word() -> None:
    assert fits(bug(workloads="pipelined"), "exploratory/gambits-pipelined")
    assert not fits(bug(workloads="pipelined"), "exploratory/gambits")
    assert fits(bug(workloads="modern-groups"), "exploratory/gambits-groups-modern")
    assert not fits(bug(workloads="modern-groups"), "exploratory/gambits-groups")
    assert fits(bug(workloads="share"), "exploratory/share")
    assert not fits(bug(workloads="log"), "exploratory/share")
    assert fits(bug(workloads="transactions-v2"), "exploratory/txn-java")
    assert not fits(bug(workloads="transactions-v2"), "exploratory/txn")


SHARING = {f"exploratory/share{more}" for more in ("", "-altered", "-committed", "-renewed")}
"""Scenarios of nightly whose load has share groups."""


def scenarios_of(workloads: str, faults: str = "") -> set[str]:
    some = slots([bug(workloads=workloads, faults=faults)], RunsPerBug(20, 120), NIGHTLY, "4.3.1", 1)
    assert all(slot.fitting for slot in some)
    return {slot.control.scenario for slot in some}


@pytest.mark.parametrize("faults", ["", "kill partition"])
def test_a_bug_that_needs_a_load_of_java_runs_where_that_load_is(faults: str) -> None:
    assert scenarios_of("share", faults) == SHARING
    assert scenarios_of("transactions-v2", faults) == {"exploratory/txn-java"}
    assert scenarios_of("modern-groups", faults) == {"exploratory/gambits-groups-modern"}
    both = scenarios_of("share transactions-v2", faults)
    assert both == {*SHARING, "exploratory/txn-java"}


@pytest.mark.parametrize("word", ["share-altered", "share-committed", "share-renewed"])
def test_what_some_share_groups_do_chooses_their_scenario(word: str) -> None:
    assert scenarios_of(word) == {f"exploratory/{word}"}


@pytest.mark.parametrize("word", ["bulk", "txn", "log"])
def test_other_words_do_not_choose_a_load_of_java(word: str) -> None:
    alone = scenarios_of(word)
    assert not any(needs_java(name) for name in alone)
    assert scenarios_of(f"{word} share") <= {*alone, *SHARING}


@pytest.mark.parametrize("name", PRESETS)
def test_a_bug_that_needs_no_java_has_the_plan_that_it_has_without_entries_of_java(name: str) -> None:
    bugs = [one for one in seeded_bugs().values() if JAVA_LOADS.isdisjoint(one.workloads)]
    preset = PRESETS[name]
    plans = [
        "\n".join(lines(slots(bugs, RunsPerBug(4, 120), pool, "4.3.1", 1))).encode()
        for pool in (preset, preset._replace(java_entries=()))
    ]
    assert plans[0] == plans[1]
    assert b"java" not in plans[0]
    assert b"exploratory/share" not in plans[0]


def test_a_version_without_share_groups_does_not_run_them() -> None:
    some = slots([bug(workloads="share")], RunsPerBug(2, 120), NIGHTLY, "4.1.1", 1)
    assert not any(slot.fitting or slot.needs_java for slot in some)


@pytest.mark.parametrize("word", sorted(JAVA_LOADS))
def test_a_run_with_a_load_of_java_takes_a_bug_and_the_length_of_the_budget(word: str) -> None:
    (slot,) = slots([bug(LATE, workloads=word)], RunsPerBug(1, 120), NIGHTLY, "4.3.1", 1)
    plan = plan_run(slot.seeded)
    assert slot.needs_java
    assert plan.scenario.schedule.duration_ms == 120_000
    assert plan.expectation.anomalies == seeded_bugs()[LATE].anomalies


def test_a_scenario_is_run_first_the_oftener_the_more_often_it_draws_what_the_bug_takes() -> None:
    taking = bug(faults="kill", workloads="txn")
    first = [
        slots([taking], RunsPerBug(1, 40), NIGHTLY, "4.3.1", seed)[0].seeded.scenario for seed in range(300)
    ]
    with_gambits = first.count("exploratory/gambits-txn") / len(first)
    few, many = draws_of("exploratory/txn")["kill"], draws_of("exploratory/gambits-txn")["kill"]
    assert with_gambits == pytest.approx(many / (few + many), abs=0.1)


def test_runs_are_of_the_preset_as_often_as_it_has_seeds() -> None:
    preset = Preset(
        "Some.",
        (
            PresetScenario("exploratory/chaos", (Mode.COMBINED, Mode.ISOLATED), 2),
            PresetScenario("exploratory/txn", (None,), 1),
            PresetScenario("disks/power-loss"),
        ),
    )
    assert [f"{run.scenario} {run.mode}" for run in drawn_runs(preset, "4.3.1")] == [
        *["exploratory/chaos combined"] * 2,
        *["exploratory/chaos isolated"] * 2,
        "exploratory/txn combined",
    ]


def test_what_the_version_can_not_bear_is_no_run_of_it() -> None:
    (oldest,) = (
        run.scenario for run in drawn_runs(Preset("One.", (PresetScenario("exploratory/txn"),)), "4.3.1")
    )
    assert load_scenario(oldest).versions_min > "1.0.0"
    assert list(drawn_runs(Preset("One.", (PresetScenario(oldest),)), "1.0.0")) == []


@pytest.mark.parametrize(
    ("faults", "workloads", "scenario"),
    [("update-feature", "groups", "groups"), ("none", "nobody", "exploratory/")],
)
def test_a_bug_that_nothing_fits_is_run_with_its_load_or_anyhow_and_that_is_reported(
    faults: str, workloads: str, scenario: str
) -> None:
    some = planned(bug(faults=faults, workloads=workloads))
    assert not any(slot.fitting for slot in some)
    assert all(scenario in slot.control.scenario for slot in some)


def test_every_bug_of_the_catalogue_can_be_planned_and_meets_what_it_takes() -> None:
    bugs = [one for one in seeded_bugs().values() if "4.3.1" in one.versions]
    for slot in slots(bugs, RunsPerBug(1, 20), NIGHTLY, "4.3.1", 1):
        assert slot.fitting, slot.bug.name
        assert plan_run(slot.seeded).expectation.anomalies == slot.bug.anomalies


LOGGED = "krucible-bug forgets {} at 2026-11-22T10:00:00.123456Z\n"


def test_the_farthest_that_any_node_logged_is_how_far_a_bug_came(tmp_path: Path) -> None:
    assert stage_in(tmp_path, "forgets") is None
    for name, words in {
        "n1": (),
        "n2": ("installed", "reached", "triggered 1"),
        "n3": ("installed",),
    }.items():
        node = tmp_path / "nodes" / name
        node.mkdir(parents=True)
        (node / "server.log").write_bytes(b"\xff\n" + "".join(map(LOGGED.format, words)).encode())
    assert stage_in(tmp_path, "forgets") is BugStage.TRIGGERED
    assert stage_in(tmp_path, "another") is BugStage.NOT_INJECTED


def test_results_know_the_stages_of_the_harness() -> None:
    assert [stage.value for stage in BugStage] == [reach.value for reach in BugReach]
