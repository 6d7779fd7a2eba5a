"""What fails while a node is away for its version, and what loses power right after its upgrade."""

import random
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from harness.plan.catalogue import load_scenario
from harness.plan.rolling import drawn_roll
from harness.plan.schedule import plan, problems_of
from harness.vocabulary import (
    Await,
    Heal,
    Inject,
    LeadsQuorum,
    Member,
    Mode,
    Move,
    Pass,
    PowerLoss,
    Role,
    RollingSchedule,
    ScriptedSchedule,
    Topology,
    Upgrade,
)
from harness.vocabulary.injected import kind_of
from tests.harness.plan.kinds import of_kind

BETWEEN = (Await(LeadsQuorum()),)
ISOLATED = Topology(mode=Mode.ISOLATED, start_version="3.9.0")
FIVE = Topology(mode=Mode.ISOLATED, start_version="3.9.0", controllers=5, brokers=5)
COMBINED = Topology(start_version="3.9.0")
SEEDS = range(60)


def drawn(seed: int, topology: Topology = ISOLATED, **fields: object) -> ScriptedSchedule:
    schedule = msgspec.structs.replace(RollingSchedule(BETWEEN, fault_chance=0.0), **fields)
    return drawn_roll(schedule, topology, random.Random(seed))


def changes(schedule: ScriptedSchedule) -> Iterator[tuple[Member, list[Move]]]:
    """Each node that gets a version, and the moves from its stop until the cluster is whole again."""
    moves: list[Move] = []
    for move in schedule.moves:
        if isinstance(move, Inject) and isinstance(move.fault, Upgrade):
            moves = []
            yield of_kind(Member, move.fault.target), moves
        elif move in BETWEEN:
            moves = []
        moves.append(move)


def hit(moves: Sequence[Move], kind: type = object) -> list[Member]:
    """Targets of the other faults of a change."""
    faults = [move.fault for move in moves if isinstance(move, Inject)]
    return [of_kind(Member, f.target) for f in faults if isinstance(f, kind) and not isinstance(f, Upgrade)]


def voters_down(member: Member, others: Sequence[Member], topology: Topology) -> int:
    voters = {node.name for node in topology.voters()}
    nodes = (each.of(topology.nodes()) for each in (member, *others))
    return len(voters & {node.name for node in nodes if node is not None})


@pytest.mark.parametrize("topology", [ISOLATED, FIVE, COMBINED], ids=["isolated", "five", "combined"])
@pytest.mark.parametrize("role", list(Role))
def test_others_fail_while_a_node_is_away_and_a_majority_is_kept_or_not(
    topology: Topology, role: Role
) -> None:
    kept = set()
    for seed in SEEDS:
        for member, moves in list(changes(drawn(seed, topology, away_chance=1.0))):
            down = voters_down(member, hit(moves), topology)
            assert member not in hit(moves)
            if member.role is role:
                kept.add(2 * (len(topology.voters()) - down) > len(topology.voters()))
    if topology is COMBINED:
        # A broker is a voter here, and two of three are away.
        assert kept == ({False} if role is Role.BROKER else set())
    else:
        assert kept == {True, False}


def test_the_node_starts_before_or_after_the_others_return() -> None:
    orders = set()
    for seed in SEEDS:
        schedule = drawn(seed, away_chance=1.0, hold_ms=(2_000, 3_000))
        assert problems_of(schedule) == []
        for member, moves in list(changes(schedule)):
            names = [move.name for move in moves if isinstance(move, Inject)]
            healed = [move.name for move in moves if isinstance(move, Heal)]
            assert sorted(names) == sorted(healed)
            (passing,) = (move for move in moves if isinstance(move, Pass))
            assert 2_000 <= passing.ms <= 3_000
            orders.add((member.role, healed[0] == names[0]))
    assert orders == {(role, first) for role in Role for first in (True, False)}


def test_the_faults_are_of_the_kinds_that_are_given() -> None:
    found = set()
    for seed in SEEDS:
        moves = drawn(seed, away_chance=1.0, kinds=("partition", "kill")).moves
        found |= {kind_of(type(move.fault)) for move in moves if isinstance(move, Inject)}
    assert found == {"upgrade", "partition", "kill"}


@pytest.mark.parametrize(
    ("topology", "sizes"),
    [(ISOLATED, {1, 2}), (FIVE, {1, 3}), (Topology(controllers=1, brokers=1, start_version="3.9.0"), {1})],
    ids=["three", "five", "one"],
)
def test_a_node_loses_power_after_its_start_alone_or_with_a_majority_of_its_role(
    topology: Topology, sizes: set[int]
) -> None:
    found = set()
    for seed in SEEDS:
        schedule = drawn(seed, topology, power_chance=1.0)
        assert problems_of(schedule) == []
        for member, moves in list(changes(schedule)):
            struck = hit(moves, PowerLoss)
            assert struck[0] == member
            assert len(set(struck)) == len(struck)
            assert {each.role for each in struck} == {member.role}
            up = next(move.name for move in moves if isinstance(move, Inject))
            assert moves.index(Heal(up)) == 1
            found.add(len(struck))
    assert found == sizes


def test_with_a_chance_of_zero_nothing_is_drawn() -> None:
    for seed in SEEDS:
        assert all(not hit(moves) for _, moves in list(changes(drawn(seed))))
        assert drawn(seed) == drawn(seed, away_chance=0.0, power_chance=0.0)


def test_the_scenarios_have_what_they_are_named_after() -> None:
    for name, kinds in (
        ("upgrade-failures", {"upgrade", "partition", "kill", "pause"}),
        ("upgrade-power", {"upgrade", "power-loss"}),
    ):
        scenario = load_scenario(f"exploratory/{name}")
        found = set()
        for seed in range(20):
            schedule = of_kind(ScriptedSchedule, plan(scenario.schedule, scenario.topology, seed))
            found |= {kind_of(type(move.fault)) for move in schedule.moves if isinstance(move, Inject)}
        assert found == kinds
