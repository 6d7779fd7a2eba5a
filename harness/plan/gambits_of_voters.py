"""Gambits about the voters: changes of the set (KIP-853), and elections over lossy links.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random
from collections.abc import Iterator

from harness.plan.gambit_pieces import (
    AT_ONCE_MS,
    BACK_MS,
    SEVERAL_S_MS,
    Script,
    even,
    faults_at,
    fresh_draw,
    shuffled,
)
from harness.vocabulary.administration import (
    AddVoter,
    AlterSome,
    Drawn,
    ReassignSome,
    RemoveVoter,
    controller,
)
from harness.vocabulary.faults import (
    Fault,
    Kill,
    LossPattern,
    PacketLoss,
    Partition,
    Pattern,
    Pause,
    PowerLoss,
    WipeDisk,
)
from harness.vocabulary.gambits import (
    AddPart,
    AllInSync,
    ChooseQuorum,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    Observing,
    QuorumLed,
    QuorumLedByAnother,
    RemovePart,
    Request,
    RequestForChosen,
    Until,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Among, DiskKind, Topology

_BEFORE_AN_ELECTION_MS = (300, 900)
"""Less than ``controller.quorum.fetch.timeout.ms``, the time that voters wait for a leader."""

_LOST_PERCENT = (30, 70)
_SEVERAL_ELECTIONS_MS = (3_000, 7_000)
"""Voters wait 2 s for a leader, and 1 to 2 s for the result of an election before they begin the next."""

_LAG_MS = ((0, 700), (0, 700), (2_000, 3_500))
"""With the proofs of faults either less or more than the time that voters wait for a leader."""
_HEAD_START_MS = (1_500, 2_500)
_LEADERLESS_MS = (2_500, 5_000)
_LEADER_SHARE = 0.75


def departing_leader(source: random.Random, _: Topology) -> Script:
    """The leader is removed from the voters, fails during or after the removal, and then joins again."""
    gone = InjectAll((FaultAt("f1", "controller", source.choice((Kill(), Pause(), _CUT_OFF))),))
    led = Until(QuorumLedByAnother("controller"), SEVERAL_S_MS)
    answered = even(source)
    return (
        *_all_voters(1),
        ChooseQuorum(fresh_draw(source)),
        Request(RemoveVoter(), answered=answered),
        *((led, gone) if answered else (gone, led)),
        Pass(source.randint(0, 1_500)),
        HealAll(("f1",)),
        *_settled(1),
    )


def overlapping_changes(source: random.Random, topology: Topology) -> Script:
    """Removals of two voters are requested while the leader reaches no voter, so neither can be committed."""
    leaving = source.sample(range(1, topology.controllers + 1), 2)
    return (
        *_all_voters(2),
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", "controller", _CUT_OFF),)),
        *(Request(RemoveVoter(controller(number))) for number in leaving),
        Pass(source.randint(*_BEFORE_AN_ELECTION_MS)),
        HealAll(("f1",)),
        Pass(source.randint(500, 2_000)),
        *_settled(2),
    )


def uncommitted_voters(source: random.Random, topology: Topology) -> Script:
    """A leader that reaches no other voter is asked for a change, and must undo it when another one leads."""
    asked = Request(RemoveVoter(controller(source.randint(1, topology.controllers))))
    cut = InjectAll((FaultAt("f1", "controller", _CUT_OFF),))
    return (
        *_all_voters(1),
        ChooseQuorum(fresh_draw(source)),
        *((asked, cut) if even(source) else (cut, asked)),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        HealAll(("f1",)),
        Until(QuorumLed(), SEVERAL_S_MS),
        # The node that had to undo the change may lead next, and counts votes then.
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f2", "controller", Pause()),)),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        HealAll(("f2",)),
        *_settled(1),
    )


def colliding_elections(source: random.Random, topology: Topology) -> Script:
    """All voters are paused until all have lost their leader; they continue within milliseconds."""
    voters = ("controller", *(f"voter-{n}" for n in range(1, len(topology.voters()))))
    faults = faults_at([(part, Pause()) for part in shuffled(source, voters)])
    return (
        ChooseQuorum(fresh_draw(source)),
        InjectAll(faults),
        Pass(source.randint(1_500, 3_000)),
        HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, AT_ONCE_MS)),
        Until(AllInSync(), BACK_MS),
    )


def lossy_voters(source: random.Random, _: Topology) -> Script:
    """Links between voters lose packets, and the leader is killed or paused, so votes arrive late."""
    pattern, at = source.choice(((LossPattern.MESH, "controller"), (LossPattern.NODE, "voter-1")))
    loss = PacketLoss(
        pattern, among=Among.CONTROLLERS, percent=source.randint(*_LOST_PERCENT), draw=fresh_draw(source)
    )
    return (
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", at, loss),)),
        Pass(source.randint(0, 2_000)),
        InjectAll((FaultAt("f2", "controller", source.choice((Kill(), Pause()))),)),
        Pass(source.randint(*_SEVERAL_ELECTIONS_MS)),
        HealAll(shuffled(source, ("f1", "f2")), source.randint(0, 2_000)),
        Until(QuorumLed(), SEVERAL_S_MS),
        Until(AllInSync(), BACK_MS),
    )


def wiped_voter(source: random.Random, topology: Topology) -> Script:
    """A voter returns with a new disk while a majority would need its vote; later it becomes a voter again.

    Until then its old directory id is among the voters, and the new one has no vote.  So its answers must not
    count for an election, for a leader's majority or for a commit.
    """
    wiped = WipeDisk(by=source.choice(("kill", "stop")), sparing=True)
    back, again = HealAll(("f1",)), even(source)
    gone, *rest = _one_vote_short(source, topology, first=2, leader=source.random() < _LEADER_SHARE)
    asked = () if again else (Request(_change(source)),)
    # A vote is requested from it as soon as it answers, or before it knows any leader.
    both = (back, gone) if even(source) else (gone, back)
    return (
        *_all_voters(1),
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", "voter-1", wiped),)),
        Pass(source.randint(0, 1_000)),
        *both,
        *asked,
        *rest,
        *(_one_vote_short(source, topology, first=2 + _spared(topology), leader=False) if again else ()),
        # Requested twice, because the first request may be too early for a leader that was just elected.
        *(RequestForChosen(RemovePart("voter-1")) for _ in range(2)),
        Until(Observing("voter-1"), SEVERAL_S_MS),
        RequestForChosen(AddPart("voter-1")),
        Until(AllInSync(), BACK_MS),
    )


def lagging_candidate(source: random.Random, topology: Topology) -> Script:
    """Twice, a voter lags behind acknowledged changes, and returns while the leader fails.

    In half of the cases the other voters are paused and continue later, so that this voter requests votes
    first.
    """
    once = _lagging(source, topology, first=1)
    return *once, *_lagging(source, topology, first=1 + len(topology.voters())), Until(AllInSync(), BACK_MS)


def _lagging(source: random.Random, topology: Topology, first: int) -> Script:
    """A voter lags behind an acknowledged change, and the active controller fails before it catches up.

    Args:
        source: of random choices.
        topology: has the voters.
        first: number in the name of the first fault.
    """
    ends: tuple[Fault, ...] = (Kill(), Pause(), _CUT_OFF)
    power = () if topology.disk is DiskKind.FOLDER else (PowerLoss(),)
    lag = FaultAt(f"f{first}", "voter-1", source.choice((Pause(), _CUT_OFF)))
    others = [f"voter-{number}" for number in range(2, len(topology.voters()))] if even(source) else []
    goes = source.choice((*ends, *power))
    gone, *held = faults_at([("controller", goes), *((part, Pause()) for part in others)], first + 1)
    return (
        ChooseQuorum(fresh_draw(source)),
        InjectAll((lag,)),
        Request(_change(source), answered=True),
        Pass(source.randint(*source.choice(_LAG_MS))),
        InjectAll((gone, *held)),
        HealAll((lag.name, *(aimed.name for aimed in held)), source.randint(*_HEAD_START_MS) if held else 0),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_000)),
        HealAll((gone.name,)),
    )


_CUT_OFF = Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS)


def _change(source: random.Random) -> Drawn:
    return source.choice((AlterSome, AlterSome, ReassignSome))(fresh_draw(source))


def _spared(topology: Topology) -> int:
    """How many voters may be down while the others are still a majority."""
    return len(topology.voters()) - 1 - len(topology.voters()) // 2


def _one_vote_short(source: random.Random, topology: Topology, first: int, *, leader: bool) -> Script:
    """Voters fail, as many that the rest is a majority only with the wiped voter's vote.

    With `leader` the leader is among the voters that fail; otherwise they are chosen at random.
    """
    others = shuffled(source, ("controller", *(f"voter-{n}" for n in range(2, len(topology.voters())))))
    away = sorted(others, key=lambda part: leader and part != "controller")[: _spared(topology)]
    faults = faults_at([(part, source.choice((Kill(), Pause(), _CUT_OFF))) for part in away], first)
    return (
        InjectAll(faults, source.randint(0, AT_ONCE_MS)),
        Pass(source.randint(*_LEADERLESS_MS)),
        HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, 1_500)),
        Until(QuorumLed(), SEVERAL_S_MS),
    )


def _all_voters(away: int) -> Iterator[GambitMove]:
    """Add controllers that are not voters, for example after an earlier change; usually there are none."""
    yield from (Request(AddVoter(), answered=True) for _ in range(away))


def _settled(away: int) -> Iterator[GambitMove]:
    yield Until(QuorumLed(), SEVERAL_S_MS)
    yield from _all_voters(away)
    yield Until(AllInSync(), BACK_MS)
