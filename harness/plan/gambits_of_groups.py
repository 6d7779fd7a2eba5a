"""A gambit about groups: another broker coordinates a group while a static member of it is away; pure.

The load decides when the member leaves and how long it stays away: two to four seconds.
"""

import random

from harness.plan.gambit_pieces import BACK_MS, REPLICAS, SEVERAL_S_MS, Script, fresh_draw
from harness.vocabulary.administration import ElectionType
from harness.vocabulary.faults import Kill, Pause
from harness.vocabulary.gambits import (
    AllInSync,
    ChooseCoordinator,
    ElectChosen,
    FaultAt,
    HealAll,
    InjectAll,
    LedBy,
    LedByAnother,
    MemberAway,
    ReassignChosen,
    RequestForChosen,
    StillAway,
    Until,
)
from harness.vocabulary.moves import NothingMoves, Pass
from harness.vocabulary.topology import Topology

_LEAVES_MS = 25_000
"""A static member leaves about every ten seconds, and later if its group rebalances."""
_LEADS_MS = 1_000


def member_away(source: random.Random, _: Topology) -> Script:
    """A static member leaves for a while, and finds another coordinator when it comes back.

    The coordinator fails, or leads no more after a preferred election.  A dead or frozen coordinator serves
    nobody, so it is enough that the member is still away when the fault is proven.  After an election it must
    be away until another broker leads.
    """
    fails = source.choice((Kill, Kill, Pause, None))
    gone = Until(LedByAnother(("leader",)), SEVERAL_S_MS)
    left = (Until(MemberAway(), _LEAVES_MS), Until(LedBy("leader"), _LEADS_MS))
    away = Until(StillAway(), 0)
    chosen = ChooseCoordinator(fresh_draw(source))
    pause = Pass(source.randint(0, 2_000))
    if fails is None:
        leader, *others = REPLICAS
        preferred, last = source.sample(others, 2)
        return (
            chosen,
            RequestForChosen(ReassignChosen((preferred, leader, last))),
            Until(NothingMoves(), SEVERAL_S_MS),
            *left,
            RequestForChosen(ElectChosen(ElectionType.PREFERRED)),
            gone,
            away,
            pause,
            Until(AllInSync(), BACK_MS),
        )
    return (
        chosen,
        *left,
        InjectAll((FaultAt("f1", "leader", fails()),)),
        away,
        gone,
        pause,
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
    )
