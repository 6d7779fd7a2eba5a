"""A rolling upgrade is drawn from the seed: every node once, and back again if it is undone."""

import random
from collections import Counter

import msgspec
import pytest

from harness.errors import UsageError
from harness.plan.planning import RunOptions, plan_run
from harness.plan.rolling import drawn_roll
from harness.plan.schedule import encode, plan, problems_of
from harness.plan.upgrades import upgrade_problems
from harness.vocabulary import (
    Acknowledged,
    Await,
    Heal,
    Inject,
    LeadsQuorum,
    Member,
    Mode,
    Perform,
    Quorum,
    Role,
    RollingSchedule,
    ScriptedSchedule,
    Topology,
    UpdateFeature,
    Upgrade,
)
from harness.vocabulary.version import DEFAULT_VERSION
from tests.harness.plan.kinds import of_kind

BETWEEN = (Await(LeadsQuorum()),)
ISOLATED = Topology(mode=Mode.ISOLATED, start_version="3.9.0")


def drawn(seed: int, topology: Topology = ISOLATED, **fields: object) -> ScriptedSchedule:
    schedule = msgspec.structs.replace(RollingSchedule(BETWEEN), **fields)
    return drawn_roll(schedule, topology, random.Random(seed))


def upgrades(schedule: ScriptedSchedule) -> list[tuple[Member, str | None]]:
    faults = [move.fault for move in schedule.moves if isinstance(move, Inject)]
    return [(of_kind(Member, fault.target), fault.version) for fault in faults if isinstance(fault, Upgrade)]


def raised(schedule: ScriptedSchedule) -> list[str]:
    return [
        move.operation.feature
        for move in schedule.moves
        if isinstance(move, Perform) and isinstance(move.operation, UpdateFeature)
    ]


def test_moves_while_a_node_is_away_come_before_it_is_healed() -> None:
    moves = drawn(3, during=(Await(Acknowledged(7)),)).moves
    for at, move in enumerate(moves):
        if isinstance(move, Inject):
            away = isinstance(move.fault, Upgrade)
            assert (moves[at + 1] == Await(Acknowledged(7))) == away
            assert moves[at + 2] == Heal(move.name)
    assert drawn(3) == drawn(3, during=())


def test_every_node_is_upgraded_once_and_then_the_features() -> None:
    for seed in range(20):
        schedule = drawn(seed, undone_chance=0.0)
        members = [member for member, version in upgrades(schedule) if version is None]
        assert Counter(members) == Counter(
            Member(role, n) for role in (Role.CONTROLLER, Role.BROKER) for n in (1, 2, 3)
        )
        assert raised(schedule) == ["metadata.version"]
        assert problems_of(schedule) == []


def test_what_is_undone_goes_back_to_the_first_version_before_all_nodes_have_the_new_one() -> None:
    counts = set()
    for seed in range(40):
        schedule = drawn(seed, undone_chance=1.0)
        there = [member for member, version in upgrades(schedule) if version is None]
        back = [member for member, version in upgrades(schedule) if version == "3.9.0"]
        assert Counter(there) == Counter(back)
        assert raised(schedule) == []
        assert problems_of(schedule) == []
        counts.add(len(there))
    assert counts == {1, 2, 3, 4, 5}


def test_controllers_go_first_unless_another_order_is_drawn() -> None:
    def roles(seed: int, chance: float) -> str:
        return "".join(
            member.role[0] for member, _ in upgrades(drawn(seed, undone_chance=0.0, mixed_chance=chance))
        )

    assert {roles(seed, 0.0) for seed in range(20)} == {"cccbbb"}
    others = {roles(seed, 1.0) for seed in range(40)}
    assert "bbbccc" in others
    assert len(others) > 5
    assert len({str(upgrades(drawn(seed, mixed_chance=0.0, undone_chance=0.0))) for seed in range(20)}) > 10


def test_a_combined_node_is_upgraded_once() -> None:
    members = [member for member, _ in upgrades(drawn(1, Topology(start_version="3.9.0"), undone_chance=0.0))]
    assert sorted(members, key=lambda member: member.number) == [Member(Role.BROKER, n) for n in (1, 2, 3)]


def test_a_single_node_is_upgraded_and_may_go_back() -> None:
    alone = Topology(controllers=1, brokers=1, start_version="3.9.0")
    assert len(upgrades(drawn(1, alone, undone_chance=0.0))) == 1
    there, back = upgrades(drawn(1, alone, undone_chance=1.0))
    assert (there[1], back[1]) == (None, "3.9.0")


def test_without_a_first_version_there_is_nothing_to_upgrade() -> None:
    schedule = drawn(1, Topology(), undone_chance=0.0)
    (problem,) = upgrade_problems(schedule, Topology(), "4.3.1", None)
    assert problem == "nodes begin on Kafka 4.3.1, and every upgrade is to that version"


def test_the_next_node_goes_after_the_conditions_and_no_fault_is_in_force() -> None:
    for seed in range(20):
        in_force: set[str] = set()
        met = False
        for move in drawn(seed, fault_chance=1.0).moves:
            if isinstance(move, Inject):
                assert not in_force
                assert met
                in_force.add(move.name)
                met = False
            if isinstance(move, Heal):
                in_force.remove(move.name)
            met |= move in BETWEEN
        assert not in_force


def test_the_same_seed_gives_the_same_moves() -> None:
    schedule = RollingSchedule(BETWEEN)
    assert encode(plan(schedule, ISOLATED, 7)) == encode(plan(schedule, ISOLATED, 7))
    assert encode(plan(schedule, ISOLATED, 7)) != encode(plan(schedule, ISOLATED, 8))


def planned(**options: object) -> tuple[str, Topology]:
    made = plan_run(msgspec.convert({"scenario": "exploratory/upgrade", "seed": 1} | options, RunOptions))
    return made.version, made.scenario.topology


def test_the_first_version_is_chosen_by_an_option() -> None:
    assert planned()[1].start_version == "3.9.0"
    version, topology = planned(from_version="4.1.1", kafka_version="4.4.0")
    assert (version, topology.start_version, topology.quorum) == ("4.4.0", "4.1.1", Quorum.DYNAMIC)
    assert planned(from_version="3.7.1", kafka_version="3.9.0")[1].quorum is Quorum.STATIC
    line = plan_run(RunOptions(scenario="exploratory/upgrade", seed=1, from_version="4.1.1")).reproduce
    assert "--from-version 4.1.1" in line


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"from_version": "latest"}, "'latest' is not a Kafka version such as 4.3.1"),
        (
            {"from_version": DEFAULT_VERSION},
            f"nodes begin on Kafka {DEFAULT_VERSION}, and every upgrade is to that version",
        ),
        ({"scenario": "smoke/partition", "from_version": "4.1.1"}, "no step of the schedule is an upgrade"),
    ],
)
def test_a_first_version_that_makes_no_sense_is_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(**options)
    assert problem in str(refused.value)
