"""The coordinator of a group changes after a static member has left, and before it comes back."""

import random
from collections import Counter

from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.vocabulary import (
    AllInSync,
    ChooseCoordinator,
    ChooseSuccessor,
    ElectChosen,
    ElectionType,
    ElectLeaders,
    GambitMove,
    HealAll,
    InjectAll,
    Kill,
    LedBy,
    LedByAnother,
    MemberAway,
    Mode,
    Pass,
    Pause,
    Request,
    RequestForChosen,
    StillAway,
    Stop,
    Topology,
    Until,
)

ISOLATED = Topology(mode=Mode.ISOLATED)
ELECTED = RequestForChosen(ElectChosen(ElectionType.PREFERRED))


def draws(*, elected: bool) -> list[tuple[GambitMove, ...]]:
    """Draws in which the member finds a coordinator that was elected, or one that took over from another."""
    every = [drawn_gambit("member-away", ISOLATED, random.Random(seed))[0] for seed in range(60)]
    found = [moves for moves in every if (ELECTED in moves) is elected]
    assert len(found) > 10
    return found


def shape(moves: tuple[GambitMove, ...]) -> list[type]:
    """Types of the moves, and of the conditions that are waited for."""
    return [type(move.condition if isinstance(move, Until) else move) for move in moves]


def failing(drawn: list[tuple[GambitMove, ...]], at: str) -> Counter[type]:
    aimed = [one for moves in drawn for move in moves if isinstance(move, InjectAll) for one in move.faults]
    assert {one.at for one in aimed} == {at}
    return Counter(type(one.fault) for one in aimed)


def test_a_coordinator_that_is_dead_or_frozen_serves_no_member_that_comes_back() -> None:
    drawn = draws(elected=False)
    kinds = failing(drawn, "successor")
    assert set(kinds) == {Kill, Pause}
    assert kinds[Kill] > kinds[Pause]
    for moves in drawn:
        assert shape(moves) == [
            *(ChooseCoordinator, MemberAway, ChooseSuccessor),
            *(InjectAll, StillAway, LedByAnother, Pass),
            *(HealAll, AllInSync),
        ]
        assert moves[4] == Until(StillAway(), 0), "nobody waits for a member to leave once more"


def test_a_member_is_away_until_another_broker_has_been_elected() -> None:
    drawn = draws(elected=True)
    assert set(failing(drawn, "leader")) == {Kill, Stop}
    for moves in drawn:
        assert moves[0] == Request(ElectLeaders(ElectionType.PREFERRED), answered=True)
        assert shape(moves) == [
            *(Request, Pass, ChooseCoordinator),
            *(InjectAll, LedByAnother, HealAll, AllInSync),
            *(MemberAway, LedByAnother, RequestForChosen, LedBy, StillAway, Pass, AllInSync),
        ]


def test_it_takes_the_time_that_members_need_to_leave() -> None:
    assert all(drawn_gambit("member-away", ISOLATED, random.Random(seed))[1] > 6_000 for seed in range(30))
    assert GAMBITS["member-away"].fits(Topology()), "combined nodes too"
    assert not GAMBITS["member-away"].fits(Topology(brokers=2))
