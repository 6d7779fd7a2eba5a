"""Pieces of schedules: what is left out takes along what would mean nothing without it."""

from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.campaigns.minimising import passes
from harness.campaigns.minimising.fitting import fits
from harness.campaigns.minimising.pieces import Piece, counts_of, pieces_of, with_moves, with_pieces
from harness.campaigns.minimising.sizes import reduction_text, size_of, taken_away
from harness.plan.catalogue import scenario_names
from harness.plan.planning import RunOptions, plan_run
from harness.plan.writing import write_scenario
from harness.vocabulary import (
    ChoosePartition,
    ElectionType,
    ElectLeaders,
    FaultAt,
    FixedSchedule,
    Gambit,
    Given,
    Heal,
    HealAll,
    Inject,
    InjectAll,
    Kill,
    Pass,
    Pause,
    Perform,
    Reassign,
    Scenario,
    ScriptedSchedule,
    Step,
    TimedOperation,
    Topology,
    broker,
)

SCRIPT = ScriptedSchedule(
    (Inject("a", Kill()), Pass(500), Inject("b", Pause()), Heal("a"), Perform(Reassign(())), Heal("b")),
    20_000,
)
BOTH = InjectAll((FaultAt("x", "leader", Kill()), FaultAt("y", "follower-1", Kill())))
GAMBIT = Gambit(
    3_000,
    "both",
    (
        ChoosePartition(1),
        BOTH,
        Pass(100),
        InjectAll((FaultAt("z", "leader", Pause()),)),
        HealAll(("x", "z")),
    ),
    9_000,
)


def test_a_fault_of_a_script_goes_with_its_heal() -> None:
    assert [piece.kind for piece in pieces_of(SCRIPT)] == ["faults", "moves", "faults", "operations"]
    left = with_pieces(SCRIPT, [Piece("faults", 2)])
    assert left == ScriptedSchedule((Inject("b", Pause()), Heal("b")), 20_000)
    assert counts_of(SCRIPT) == {"faults": 2, "moves": 1, "operations": 1}


def test_a_gambit_keeps_its_choices_and_mends_what_began() -> None:
    assert with_moves(GAMBIT, [1, 4]).moves == (ChoosePartition(1), BOTH, HealAll(("x",)))
    assert with_moves(GAMBIT, [2, 4]).moves == (ChoosePartition(1), Pass(100))


def test_whom_a_schedule_names_must_be_there() -> None:
    def scenario(*operations: Reassign | ElectLeaders, at: int = 3) -> Scenario:
        acts = tuple(TimedOperation(4_000, each) for each in operations)
        return Scenario("A.", "B.", FixedSchedule((Step(4_000, 6_000, Kill(broker(at))),), 20_000, acts))

    assert fits(scenario())
    assert not fits(scenario(at=4))
    assert fits(scenario(Reassign((("log-0", 5, (1, 3)), ("log-0", 0, None)))))
    assert not fits(scenario(Reassign((("log-0", 5, (1, 4)),))))
    assert not fits(scenario(Reassign((("log-0", 6, (1, 3)),))))
    assert not fits(scenario(ElectLeaders(ElectionType.UNCLEAN, (("log-0", 6),))))
    assert not fits(replace(scenario(), topology=Topology(controllers=2)))
    there = Gambit(3_000, "g", (Given({"leader": broker(1)}, ("log-0", 6)),), 1_000)
    assert not fits(replace(scenario(), schedule=FixedSchedule((), 20_000, gambits=(there,))))


@pytest.mark.slow
@pytest.mark.parametrize("name", scenario_names())
def test_what_is_offered_can_be_run(name: str, tmp_path: Path) -> None:
    plan = plan_run(RunOptions(scenario=name, seed=1))
    path = tmp_path / "candidate.py"
    asked = replace(plan.options, scenario="files/candidate", scenario_file=str(path))
    for schedule in (plan.schedule, with_pieces(plan.schedule, ())):
        scenario = replace(plan.scenario, schedule=schedule, kafka_version=plan.version, keeps_draws=True)
        for each in (passes.nodes, passes.partitions, passes.clients):
            offers = each(scenario)
            with suppress(StopIteration):
                trial = next(offers)
                while True:
                    path.write_text(write_scenario(trial.scenario, trial.text))
                    scenario = plan_run(asked).scenario
                    assert scenario == trial.scenario
                    trial = offers.send(True)  # noqa: FBT003 - it is kept


def test_what_was_taken_away_is_reported() -> None:
    before = size_of(
        Scenario("A.", "B.", FixedSchedule((Step(4_000, 6_000, Kill()),), 20_000, gambits=(GAMBIT,)))
    )
    after = size_of(Scenario("A.", "B.", FixedSchedule((Step(4_000, 6_000, Kill()),), 14_000)))
    assert reduction_text(before, after) == "1 of 4 faults, 3 nodes, 14 s"
    assert taken_away(before, after) == ("3 of 4 faults", "1 of 1 gambits", "5 of 5 moves", "6 of 20 seconds")
