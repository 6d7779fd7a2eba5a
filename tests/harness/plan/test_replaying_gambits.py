"""Gambits of a recorded run are played again with the same nodes, at their times of then."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from harness.faults.activate import as_value
from harness.plan.replaying import MisfitError, Resolution, differences, resolution_of
from harness.plan.schedule import decode, encode
from harness.vocabulary import (
    AllInSync,
    ChooseNewcomers,
    ChoosePartition,
    ChooseQuorum,
    FaultAt,
    FixedSchedule,
    Gambit,
    Given,
    HealAll,
    InjectAll,
    Kill,
    LedBy,
    Mode,
    Partition,
    Pattern,
    ReassignChosen,
    ReassignSome,
    Request,
    RequestForChosen,
    Step,
    Topology,
    Until,
    broker,
    controller,
)
from tests.harness.recorded_run import Recording

OK, INFO, FAIL, INVOKE = OperationType.OK, OperationType.INFO, OperationType.FAIL, OperationType.INVOKE
NODES = Topology(mode=Mode.ISOLATED).nodes()
MOVES = (
    ChoosePartition(5),
    ChooseQuorum(6),
    InjectAll((FaultAt("f1", "leader", Kill()),)),
    Until(LedBy("follower-1"), 9_000),
    HealAll(("f1",)),
    Until(AllInSync(), 9_000),
)
GAMBIT = Gambit(3_000, "x", MOVES, 8_000)


def resolved(schedule: FixedSchedule, *recordings: Recording) -> Resolution:
    operations = sorted((o for each in recordings for o in each.operations), key=lambda o: o.time_ns)
    numbered = tuple(
        type(o)(**{**{name: getattr(o, name) for name in o.__struct_fields__}, "index": index})
        for index, o in enumerate(operations)
    )
    found = resolution_of(schedule, History("abc", "", numbered), NODES)
    assert decode(encode(found.schedule)) == found.schedule, "it can't be stored"
    return found


def chosen(at_ms: int, name: str, parts: dict[str, str], where: tuple[str, int] | None) -> list[Any]:
    return [at_ms, name, {"parts": parts, "where": where}]


def recorded_gambits(*choices: list[Any], ends: tuple[int, str, OperationType] | None = None) -> Recording:
    gambits = Recording("gambits")
    for at_ms, name, value in choices:
        gambits.add(at_ms, INVOKE, "choose", name, {})
        gambits.add(at_ms + 1, OK, "choose", name, value)
    if ends is not None:
        gambits.add(ends[0], INVOKE, "gambit", ends[1], {"kind": "x"})
        gambits.add(ends[0], ends[2], "gambit", ends[1], {"kind": "x"})
    return gambits


def struck(name: str, gambit: str, at_ms: int) -> Recording:
    nemesis = Recording("nemesis-2")
    value = {"kind": "kill", "spec": as_value(Kill()), "gambit": gambit}
    nemesis.add(at_ms, INVOKE, "inject", name, value)
    nemesis.add(at_ms + 5, OK, "inject", name, value | {"targets": ["b1"], "cut": []})
    return nemesis


def test_nodes_take_the_place_of_choices_and_times_are_those_of_then() -> None:
    gambits = recorded_gambits(
        chosen(3_000, "g1", {"leader": "b1", "follower-1": "b3"}, ("log-0", 4)),
        chosen(3_100, "g1", {"controller": "c2"}, None),
        ends=(9_500, "g1", OK),
    )
    found = resolved(FixedSchedule((), 30_000, gambits=(GAMBIT,)), gambits, struck("g1f1", "g1", 3_200))
    assert isinstance(found.schedule, FixedSchedule)
    (again,) = found.schedule.gambits
    assert (again.at_ms, again.lasts_ms, again.kind) == (3_000, 6_500, "x")
    assert again.moves == (
        Given({"leader": broker(1), "follower-1": broker(3)}, ("log-0", 4)),
        Given({"controller": controller(2)}, None),
        *MOVES[2:],
    )
    assert found.notes == ()
    assert found.schedule.steps == ()


def test_what_followed_an_early_end_keeps_its_time_of_then() -> None:
    schedule = FixedSchedule((Step(20_000, 6_000, Kill()),), 40_000, gambits=(GAMBIT,))
    gambits = recorded_gambits(chosen(3_500, "g1", {"leader": "b1"}, ("t", 0)), ends=(5_000, "g1", OK))
    nemesis = Recording("nemesis")
    nemesis.fault("f1", Kill(), "b2", (14_000, 14_100, 20_200))
    found = resolved(schedule, gambits, nemesis).schedule
    assert isinstance(found, FixedSchedule)
    # The schedule began at 500: the gambit was its first, and nothing had delayed that.
    assert found.gambits[0].at_ms == 3_000
    assert found.steps[0].at_ms == 13_500


def test_what_was_not_played_is_left_out_and_what_ended_early_is_played_anew() -> None:
    second = Gambit(20_000, "y", (ChoosePartition(1), Request(ReassignSome(4))), 5_000)
    third = Gambit(28_000, "z", (ChoosePartition(2),), 5_000)
    recording = recorded_gambits(chosen(3_000, "g1", {"leader": "b1"}, ("t", 0)), ends=(3_900, "g1", INFO))
    for o in (
        recorded_gambits(ends=(17_000, "g2", INFO)).operations
        + recorded_gambits(ends=(29_000, "g3", FAIL)).operations
    ):
        recording.operations.append(o)
    found = resolved(FixedSchedule((), 40_000, gambits=(GAMBIT, second, third)), recording)
    assert isinstance(found.schedule, FixedSchedule)
    first, asking = found.schedule.gambits
    assert isinstance(first.moves[0], Given)
    assert first.moves[1] == ChooseQuorum(6)
    assert asking.moves == second.moves
    assert found.notes == (
        "g1 made no choice in the recorded run: it chooses again",
        "g2 made no choice in the recorded run: it chooses again",
        "g2: its requests are resolved again",
        "g3 of the recorded run is left out: it did not begin",
    )


def test_a_replay_of_a_replay_takes_its_choices_too() -> None:
    given = Gambit(3_000, "x", (Given({"leader": broker(1)}, ("t", 0)), *MOVES[2:]), 8_000)
    recording = recorded_gambits(chosen(3_000, "g1", {"leader": "b1"}, ("t", 0)), ends=(3_900, "g1", OK))
    found = resolved(FixedSchedule((), 40_000, gambits=(given,)), recording).schedule
    assert isinstance(found, FixedSchedule)
    assert found.gambits[0].moves == given.moves


def test_newcomers_of_then_are_moved_to() -> None:
    moves = (
        ChoosePartition(5),
        ChooseNewcomers(6),
        RequestForChosen(ReassignChosen(("leader", "newcomer-1"))),
    )
    gambits = recorded_gambits(
        chosen(3_000, "g1", {"leader": "b1", "follower-1": "b3"}, ("log-0", 4)),
        chosen(3_100, "g1", {"newcomer-1": "b2"}, None),
        ends=(9_500, "g1", OK),
    )
    found = resolved(FixedSchedule((), 30_000, gambits=(Gambit(3_000, "x", moves, 8_000),)), gambits)
    assert isinstance(found.schedule, FixedSchedule)
    assert found.schedule.gambits[0].moves[1:] == (Given({"newcomer-1": broker(2)}, None), moves[2])
    assert found.notes == ()


def test_a_link_is_cut_between_the_nodes_of_then() -> None:
    cut = InjectAll((FaultAt("f1", "voter-1", Partition(Pattern.ONE_WAY_LINK, draw=3), to="controller"),))
    gambits = recorded_gambits(
        chosen(3_000, "g1", {"controller": "c2", "voter-1": "c3"}, None), ends=(9_500, "g1", OK)
    )
    moves = (ChooseQuorum(6), cut, HealAll(("f1",)))
    found = resolved(FixedSchedule((), 30_000, gambits=(Gambit(3_000, "x", moves, 8_000),)), gambits)
    assert isinstance(found.schedule, FixedSchedule)
    given = Given({"controller": controller(2), "voter-1": controller(3)}, None)
    assert found.schedule.gambits[0].moves == (given, *moves[1:])
    assert found.notes == ()


def test_a_node_that_there_is_not_is_refused() -> None:
    recording = recorded_gambits(chosen(3_000, "g1", {"leader": "b9"}, ("t", 0)), ends=(3_900, "g1", OK))
    with pytest.raises(MisfitError, match="b9 is not among"):
        resolved(FixedSchedule((), 40_000, gambits=(GAMBIT,)), recording)


def test_a_recorded_leader_that_leads_no_more_is_reported() -> None:
    gambits = Recording("gambits")
    gambits.add(1, OK, "choose", "g1", {"parts": {}, "as_then": False})
    gambits.add(2, OK, "choose", "g2", {"parts": {}, "as_then": True})
    gambits.add(3, OK, "choose", "g3", {"parts": {}})
    assert differences({}, gambits.operations) == ("g1: the leader of the recorded run does not lead now",)
