"""The coordinator of a group changes after a static member has left, and before it comes back."""

import random
from collections import Counter

from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.vocabulary import (
    AllInSync,
    ChooseCoordinator,
    ElectChosen,
    ElectionType,
    GambitMove,
    HealAll,
    InjectAll,
    Kill,
    LedBy,
    LedByAnother,
    MemberAway,
    Mode,
    NothingMoves,
    Pass,
    Pause,
    ReassignChosen,
    RequestForChosen,
    StillAway,
    Topology,
    Until,
)

DRAWS = 60


def draws() -> list[tuple[GambitMove, ...]]:
    return [
        drawn_gambit("member-away", Topology(mode=Mode.ISOLATED), random.Random(seed))[0]
        for seed in range(DRAWS)
    ]


def conditions(moves: tuple[GambitMove, ...]) -> list[type]:
    return [type(move.condition) for move in moves if isinstance(move, Until)]


def injected(moves: tuple[GambitMove, ...]) -> type | None:
    found = [aimed for move in moves if isinstance(move, InjectAll) for aimed in move.faults]
    assert {aimed.at for aimed in found} <= {"leader"}
    return type(found[0].fault) if found else None


def test_the_coordinator_fails_or_another_one_is_elected() -> None:
    kinds = Counter(injected(moves) for moves in draws())
    assert set(kinds) == {Kill, Pause, None}
    assert kinds[Kill] > kinds[Pause]


def test_a_coordinator_that_is_dead_or_frozen_serves_no_member_that_comes_back() -> None:
    for moves in draws():
        if injected(moves) is None:
            continue
        assert conditions(moves) == [MemberAway, LedBy, StillAway, LedByAnother, AllInSync]
        assert [type(move) for move in moves] == [
            *(ChooseCoordinator, Until, Until),
            *(InjectAll, Until, Until, Pass),
            *(HealAll, Until),
        ]
        assert moves[4] == Until(StillAway(), 0), "nobody waits for a member to leave once more"


def test_a_member_is_away_until_another_broker_has_been_elected() -> None:
    preferred = set()
    for moves in draws():
        if injected(moves) is not None:
            continue
        assert conditions(moves) == [NothingMoves, MemberAway, LedBy, LedByAnother, StillAway, AllInSync]
        prepared, elected = (move.what for move in moves if isinstance(move, RequestForChosen))
        assert isinstance(prepared, ReassignChosen)
        assert prepared.wanted is not None
        assert {*prepared.wanted} == {"leader", "follower-1", "follower-2"}
        preferred.add(prepared.wanted[0])
        assert elected == ElectChosen(ElectionType.PREFERRED)
        assert conditions(moves[: moves.index(RequestForChosen(elected))])[-1] is LedBy
    assert preferred == {"follower-1", "follower-2"}


def test_it_takes_the_time_that_members_need_to_leave() -> None:
    topology = Topology(mode=Mode.ISOLATED)
    assert all(drawn_gambit("member-away", topology, random.Random(seed))[1] > 6_000 for seed in range(DRAWS))
    assert GAMBITS["member-away"].fits(Topology()), "combined nodes too"
    assert not GAMBITS["member-away"].fits(Topology(brokers=2))
