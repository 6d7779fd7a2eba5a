"""Gambits about controllers, and reassignments that keep the leader, move by move."""

from collections import Counter

import pytest

from harness.plan.gambits import GAMBITS
from harness.vocabulary import (
    AddPart,
    AddVoter,
    AllInSync,
    AlterSome,
    Among,
    ChooseQuorum,
    ElectChosen,
    ElectionType,
    HealAll,
    InjectAll,
    Joined,
    Kill,
    LedBy,
    LedByAnother,
    Mode,
    NothingMoves,
    Observing,
    OutOfSync,
    Partition,
    Pass,
    Pattern,
    Pause,
    Quorum,
    QuorumLedByAnother,
    ReassignChosen,
    ReassignSome,
    RemovePart,
    Request,
    RequestForChosen,
    Stop,
    Topology,
    Until,
    WaitAtMost,
)
from tests.harness.plan.test_gambits import script

FOUR = Topology(mode=Mode.ISOLATED, controllers=4)


def test_the_leader_fails_within_100_ms_of_a_change_of_another_voter() -> None:
    seen: Counter[tuple[type, bool]] = Counter()
    ends, frozen = set(), set()
    for seed in range(80):
        moves = script("unfinished-change", seed, FOUR)
        struck = next(place for place, move in enumerate(moves) if isinstance(move, InjectAll))
        asked, passes, gone, led = moves[struck - 2 : struck + 2]
        assert isinstance(asked, RequestForChosen)
        assert isinstance(passes, Pass)
        assert passes.ms <= 100
        assert isinstance(gone, InjectAll)
        assert [aimed.at for aimed in gone.faults] == ["controller"]
        assert led == Until(QuorumLedByAnother("controller"), 15_000)
        assert asked.what in (AddPart("voter-1"), RemovePart("voter-1"))
        earlier = moves[: struck - 2]
        if asked.what == AddPart("voter-1"):
            assert earlier[-2:] == (
                RequestForChosen(RemovePart("voter-1")),
                Until(Observing("voter-1"), 15_000),
            )
        assert moves[0] == moves[-2] == Request(AddVoter(), answered=True)
        seen[type(asked.what), asked.answered] += 1
        ends.add(type(gone.faults[0].fault))
        frozen.add(sum(isinstance(move, InjectAll) for move in moves))
    assert len(seen) == 4
    assert ends == {Kill, Pause, Partition}
    assert frozen == {1, 2}


def test_of_three_voters_the_next_leader_is_not_waited_for_in_vain() -> None:
    for seed in range(20):
        moves = script("unfinished-change", seed)
        assert Until(QuorumLedByAnother("controller"), 15_000) not in moves
        assert WaitAtMost(QuorumLedByAnother("controller"), 5_000) in moves


def test_a_voter_does_not_hear_the_leader_alone_until_it_asks_the_others() -> None:
    links, ends, rounds = set(), set(), set()
    for seed in range(80):
        moves = script("deaf-voter", seed, FOUR)
        turns = 0
        for place, move in enumerate(moves):
            if not isinstance(move, InjectAll):
                continue
            (aimed,) = move.faults
            if isinstance(aimed.fault, Kill):
                ends.add(aimed.at)
                continue
            assert isinstance(aimed.fault, Partition)
            assert (aimed.at, aimed.to, aimed.fault.among) == ("voter-1", "controller", Among.CONTROLLERS)
            assert isinstance(moves[place - 1], ChooseQuorum), "the leader may be another by now"
            asked, passes = moves[place + 1 : place + 3]
            assert isinstance(asked, Request)
            assert isinstance(asked.operation, AlterSome | ReassignSome), "it lags behind a change"
            assert isinstance(passes, Pass)
            assert passes.ms > 2_000, "longer than it waits for the leader"
            links.add((aimed.fault.pattern, aimed.fault.inward))
            turns += 1
        rounds.add(turns)
        killed = [aimed.at for move in moves if isinstance(move, InjectAll) for aimed in move.faults]
        assert ("controller" in killed) == (Until(QuorumLedByAnother("controller"), 15_000) in moves)
    assert {pattern for pattern, _ in links} == {Pattern.LINK, Pattern.ONE_WAY_LINK}
    assert {inward for pattern, inward in links if pattern is Pattern.ONE_WAY_LINK} == {True, False}
    assert ends == {"voter-1", "controller"}
    assert rounds == {2, 3}


def test_a_restarted_voter_starts_without_the_leader() -> None:
    seen = 0
    for seed in range(40):
        moves = script("deaf-voter", seed)
        for place, move in enumerate(moves):
            if isinstance(move, InjectAll) and move.faults[0].at == "voter-1" and move.faults[0].to is None:
                back, passes, later = moves[place + 1 : place + 4]
                assert back == HealAll((move.faults[0].name,))
                assert isinstance(passes, Pass)
                assert passes.ms > 2_000
                assert isinstance(later, HealAll), "the link is still cut"
                seen += 1
    assert seen


def test_changes_are_due_when_the_controller_is_cut_off() -> None:
    causes: Counter[tuple[type, bool]] = Counter()
    for seed in range(80):
        moves = script("uncommitted-changes", seed)
        faults = [(place, a) for place, m in enumerate(moves) if isinstance(m, InjectAll) for a in m.faults]
        named = {aimed.name: (place, aimed) for place, aimed in faults}
        (due_at, due), (cut_at, cut) = named["f1"], named["f2"]
        assert (cut.at, cut.fault) == ("controller", Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS))
        asked = [place for place, move in enumerate(moves) if isinstance(move, Request)]
        operations = {type(move.operation) for move in moves if isinstance(move, Request)}
        assert operations == {AlterSome, ReassignSome}
        assert asked == [cut_at + 1, cut_at + 2]
        assert (due_at > cut_at) == isinstance(due.fault, Stop)
        led = moves.index(Until(QuorumLedByAnother("controller"), 15_000))
        assert max(place for place, _ in faults) < led, "they are appended before another leads"
        causes[type(due.fault), "f3" in named] += 1
    assert set(causes) == {(kind, killed) for kind in (Partition, Kill, Stop) for killed in (True, False)}


def test_a_leader_keeps_its_place_while_its_followers_change() -> None:
    seen: Counter[tuple[int, bool]] = Counter()
    for seed in range(80):
        moves = script("kept-leader", seed)
        wanted = [
            m.what.wanted
            for m in moves
            if isinstance(m, RequestForChosen) and isinstance(m.what, ReassignChosen)
        ]
        assert {each[0] for each in wanted if each} == {"leader"}
        last = wanted[-1] or ()
        assert len(last) == 2, "as many as before"
        for parts in wanted:
            joined = moves.index(Until(Joined((parts or ())[-1]), 15_000))
            assert moves[joined + 1] == WaitAtMost(NothingMoves(), 5_000)
        elected = moves.index(RequestForChosen(ElectChosen(ElectionType.PREFERRED)))
        away = moves.index(Until(LedByAnother(("leader",)), 15_000))
        assert moves[elected - 1] == Until(AllInSync(), 30_000)
        assert moves[elected + 1] == WaitAtMost(LedBy("leader"), 3_000)
        shrunk = moves.index(Until(OutOfSync(last[-1]), 15_000))
        assert min(away, shrunk) > joined
        seen[len(wanted), shrunk < away] += 1
    assert len(seen) == 4


@pytest.mark.parametrize("kind", ["cut-off-controller", "deaf-voter", "uncommitted-changes"])
def test_a_controller_is_cut_off_only_if_others_can_take_its_place(kind: str) -> None:
    for quorum in Quorum:
        single, three = (
            Topology(mode=Mode.ISOLATED, quorum=quorum, controllers=controllers, brokers=3)
            for controllers in (1, 3)
        )
        assert (GAMBITS[kind].fits(single), GAMBITS[kind].fits(three)) == (False, True)
