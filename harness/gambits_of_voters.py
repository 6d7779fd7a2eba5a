"""Gambits around the quorum's voters: changes of them (KIP-853), and elections over links that lose packets.

They are drawn as those of `harness.gambits` are, which has the table of all.
"""

import random
from collections.abc import Iterator

from harness.gambit_pieces import BACK_MS, SEVERAL_S_MS, Script, even, fresh_draw, shuffled
from harness.vocabulary.administration import AddVoter, RemoveVoter, controller
from harness.vocabulary.faults import Among, Kill, LossPattern, PacketLoss, Partition, Pattern, Pause
from harness.vocabulary.gambits import (
    AllInSync,
    Ask,
    Blow,
    ChooseQuorum,
    GambitMove,
    Mend,
    QuorumLed,
    QuorumLedByAnother,
    Strike,
    Until,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Topology

_BEFORE_AN_ELECTION_MS = (300, 900)
"""Shorter than voters wait for a leader that they do not reach (``controller.quorum.fetch.timeout.ms``)."""

_LOST_PERCENT = (30, 70)
_SEVERAL_ELECTIONS_MS = (3_000, 7_000)
"""Voters wait 2 s for a leader, and 1 to 2 s for the outcome of an election before they begin another."""


def departing_leader(source: random.Random, _: Topology) -> Script:
    """The leader is removed, and taken away as that goes on or after it; then it joins again."""
    gone = Strike((Blow("f1", "controller", source.choice((Kill(), Pause(), _CUT_OFF))),))
    led = Until(QuorumLedByAnother("controller"), SEVERAL_S_MS)
    answered = even(source)
    return (
        *_all_voters(1),
        ChooseQuorum(fresh_draw(source)),
        Ask(RemoveVoter(), answered=answered),
        *((led, gone) if answered else (gone, led)),
        Pass(source.randint(0, 1_500)),
        Mend(("f1",)),
        *_settled(1),
    )


def overlapping_changes(source: random.Random, topology: Topology) -> Script:
    """Two voters are to leave while the leader reaches no other, so that neither change can be committed."""
    leaving = source.sample(range(1, topology.controllers + 1), 2)
    return (
        *_all_voters(2),
        ChooseQuorum(fresh_draw(source)),
        Strike((Blow("f1", "controller", _CUT_OFF),)),
        *(Ask(RemoveVoter(controller(number))) for number in leaving),
        Pass(source.randint(*_BEFORE_AN_ELECTION_MS)),
        Mend(("f1",)),
        Pass(source.randint(500, 2_000)),
        *_settled(2),
    )


def uncommitted_voters(source: random.Random, topology: Topology) -> Script:
    """A leader without the others is asked for a change, and has to give it up when another one leads."""
    asked = Ask(RemoveVoter(controller(source.randint(1, topology.controllers))))
    cut = Strike((Blow("f1", "controller", _CUT_OFF),))
    return (
        *_all_voters(1),
        ChooseQuorum(fresh_draw(source)),
        *((asked, cut) if even(source) else (cut, asked)),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        Mend(("f1",)),
        Until(QuorumLed(), SEVERAL_S_MS),
        # Who had to give it up may lead next, and counts votes then.
        ChooseQuorum(fresh_draw(source)),
        Strike((Blow("f2", "controller", Pause()),)),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Mend(("f2",)),
        *_settled(1),
    )


def lossy_voters(source: random.Random, _: Topology) -> Script:
    """Links between voters lose packets, and the leader goes: candidates hear of each other late."""
    pattern, at = source.choice(((LossPattern.MESH, "controller"), (LossPattern.NODE, "voter-1")))
    loss = PacketLoss(
        pattern, among=Among.CONTROLLERS, percent=source.randint(*_LOST_PERCENT), draw=fresh_draw(source)
    )
    return (
        ChooseQuorum(fresh_draw(source)),
        Strike((Blow("f1", at, loss),)),
        Pass(source.randint(0, 2_000)),
        Strike((Blow("f2", "controller", source.choice((Kill(), Pause()))),)),
        Pass(source.randint(*_SEVERAL_ELECTIONS_MS)),
        Mend(shuffled(source, ("f1", "f2")), source.randint(0, 2_000)),
        Until(QuorumLed(), SEVERAL_S_MS),
        Until(AllInSync(), BACK_MS),
    )


_CUT_OFF = Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS)


def _all_voters(away: int) -> Iterator[GambitMove]:
    """Have controllers vote that do not, such as those of an earlier change; most often there are none."""
    yield from (Ask(AddVoter(), answered=True) for _ in range(away))


def _settled(away: int) -> Iterator[GambitMove]:
    yield Until(QuorumLed(), SEVERAL_S_MS)
    yield from _all_voters(away)
    yield Until(AllInSync(), BACK_MS)
