"""Gambits about leaders that append what no other node gets, move by move."""

from collections import Counter
from itertools import pairwise

from harness.vocabulary import (
    AllInSync,
    Among,
    ChoosePartition,
    ChooseQuorum,
    ChooseSuccessor,
    ElectChosen,
    ElectionType,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    Kill,
    LedBy,
    LedByAnother,
    Mode,
    Partition,
    Pass,
    Pattern,
    Pause,
    ReassignChosen,
    RequestForChosen,
    Topology,
    Until,
)
from tests.harness.plan.test_gambits import REPLICAS, script

FIVE = Topology(mode=Mode.ISOLATED, controllers=5)


def injections(moves: tuple[GambitMove, ...]) -> list[InjectAll]:
    return [move for move in moves if isinstance(move, InjectAll)]


def deaf(aimed: FaultAt) -> bool:
    """Whether it can't fetch, and still reaches controllers."""
    fault = aimed.fault
    return isinstance(fault, Partition) and (fault.pattern, fault.among) == (
        Pattern.ISOLATE_ONE,
        Among.BROKERS,
    )


def silence(moves: tuple[GambitMove, ...]) -> tuple[list[FaultAt], bool]:
    """The faults by which the leader's request is lost, and whether the follower is frozen by then."""
    first, second = injections(moves)[:2]
    lagging, *silent = first.faults
    assert lagging.at == "follower-1"
    frozen = isinstance(lagging.fault, Pause)
    assert frozen == bool(silent)
    assert frozen or deaf(lagging)
    return silent or list(second.faults), frozen


def test_a_leader_can_not_report_that_a_follower_lags_when_it_is_due() -> None:
    ways: Counter[tuple[str, int, bool]] = Counter()
    for seed in range(120):
        moves = script("held-shrink", seed, FIVE)
        assert [type(move) for move in moves[:2]] == [ChoosePartition, ChooseQuorum]
        silent, frozen = silence(moves)
        waits = [move.ms for move in moves if isinstance(move, Pass)]
        if frozen:
            assert waits[0] > 6_000, "it leaves the ISR"
        else:
            assert 4_500 <= waits[0] <= 6_000, "its removal is not requested yet"
            assert waits[1] >= 2_000
        kinds = {type(aimed.fault) for aimed in silent}
        assert len(kinds) == 1
        link = silent[0].fault
        if isinstance(link, Partition):
            assert (link.pattern, silent[0].at, silent[0].to) == (Pattern.LINK, "leader", "controller")
        else:
            assert {aimed.at for aimed in silent} == {"controller", "voter-1", "voter-2"} or [
                aimed.at for aimed in silent
            ] == ["controller"]
        ways[str(link.__struct_config__.tag), len(silent), frozen] += 1
    assert set(ways) == {
        ("partition", 1, False),
        ("pause", 1, False),
        ("pause", 3, False),
        ("pause", 3, True),
        ("kill", 3, False),
        ("kill", 3, True),
    }


def test_a_follower_whose_lag_was_not_reported_is_back_before_the_leader() -> None:
    gone: Counter[tuple[object, int]] = Counter()
    for seed in range(60):
        moves = script("held-shrink", seed)
        struck = injections(moves)[-1]
        place = moves.index(struck)
        first, last = (move for move in moves[place:] if isinstance(move, HealAll))
        assert moves[place + 1] == first
        assert first.names[0] == "f1"
        names = {aimed.name for aimed in struck.faults}
        assert set(last.names) == names
        assert names.isdisjoint(first.names)
        leader = next(aimed.fault for aimed in struck.faults if aimed.at == "leader")
        gone[type(leader), len(struck.faults)] += 1
    assert set(gone) == {(Kill, 1), (Kill, 2), (Partition, 1), (Partition, 2)}


def test_three_lead_and_none_gets_what_another_appended() -> None:
    ends, first_back = set(), set()
    for seed in range(60):
        moves = script("lone-epochs", seed)
        other, cut, gone = injections(moves)
        assert other.faults[0].at == "follower-2"
        assert deaf(other.faults[0])
        assert isinstance(cut.faults[0].fault, Partition)
        assert (cut.faults[0].at, cut.faults[0].fault.among) == ("leader", Among.ALL)
        assert gone.faults[0].at == "successor"
        assert moves.index(ChooseSuccessor()) < moves.index(gone)
        led = [move.condition for move in moves if isinstance(move, Until)]
        assert led == [LedByAnother(("leader",)), LedByAnother(("leader", "successor")), AllInSync()]
        assert sum(move.ms for move in moves if isinstance(move, Pass)) <= 3_000, "all stay in the ISR"
        (healed,) = (move for move in moves if isinstance(move, HealAll))
        assert set(healed.names) == {"f1", "f2", "f3"}
        ends.add(type(gone.faults[0].fault))
        first_back.add(healed.names[0])
    assert ends == {Kill, Pause, Partition}
    assert first_back == {"f1", "f2", "f3"}


def test_leaders_that_can_not_fetch_from_each_other_take_turns() -> None:
    orders: Counter[tuple[str, ...]] = Counter()
    killed: Counter[bool] = Counter()
    for seed in range(80):
        moves = script("alternating-leaders", seed)
        one, leader, *rest = injections(moves)
        assert one.faults[0].at in REPLICAS - {"leader"}
        assert leader.faults[0].at == "leader"
        assert deaf(one.faults[0])
        assert deaf(leader.faults[0])
        turns = ["leader"]
        for place, move in enumerate(moves):
            if isinstance(move, RequestForChosen) and isinstance(move.what, ReassignChosen):
                preferred, *others = (str(place) for place in move.what.wanted or ())
                assert {preferred, *others} == REPLICAS, "no replica is added or removed"
                assert moves[place + 1] == RequestForChosen(ElectChosen(ElectionType.PREFERRED))
                assert moves[place + 2] == Until(LedBy(preferred), 3_000)
                turns.append(preferred)
        assert len(turns) == 4
        assert all(now != then for now, then in pairwise(turns))
        assert len(set(turns)) < 4, "one leads twice"
        assert [aimed.at for move in rest for aimed in move.faults] in ([], [turns[-1]])
        orders[tuple(turns)] += 1
        killed[bool(rest)] += 1
    assert len(orders) == 6
    assert set(killed) == {True, False}
