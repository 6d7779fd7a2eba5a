"""A gambit about groups: another broker coordinates a group while a static member of it is away; pure.

The load decides when the member leaves and how long it stays away: two to four seconds.
"""

import random

from harness.plan.gambit_pieces import BACK_MS, SEVERAL_S_MS, Script, fresh_draw
from harness.vocabulary.administration import ElectionType, ElectLeaders
from harness.vocabulary.faults import Kill, Pause, Stop
from harness.vocabulary.gambits import (
    AllInSync,
    ChooseCoordinator,
    ChooseSuccessor,
    ElectChosen,
    FaultAt,
    HealAll,
    InjectAll,
    LedBy,
    LedByAnother,
    MemberAway,
    Request,
    RequestForChosen,
    StillAway,
    Until,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Topology

_LEFT = Until(MemberAway(), 25_000)
"""A static member leaves every ten seconds on average, and less often if its group rebalances."""
_AT_ONCE_MS = 1_000
_STILL_AWAY = Until(StillAway(), 0)
_GONE = Until(LedByAnother(("leader",)), SEVERAL_S_MS)
_IN_SYNC = Until(AllInSync(), BACK_MS)


def member_away(source: random.Random, _: Topology) -> Script:
    """A static member leaves for a while, and finds another coordinator when it comes back."""
    return source.choice((_coordinator_fails, _coordinator_fails, _led_back))(source)


def _coordinator_fails(source: random.Random) -> Script:
    """The coordinator is killed or frozen.

    It then serves no member, so it is enough that the member is still away when the fault is proven.  It is
    looked for once the member has left, because an election may have moved it meanwhile.
    """
    return (
        ChooseCoordinator(fresh_draw(source)),
        _LEFT,
        ChooseSuccessor(_AT_ONCE_MS),
        InjectAll((FaultAt("f1", "successor", source.choice((Kill, Kill, Pause))()),)),
        _STILL_AWAY,
        Until(LedByAnother(("successor",)), SEVERAL_S_MS),
        Pass(source.randint(0, 2_000)),
        HealAll(("f1",)),
        _IN_SYNC,
    )


def _led_back(source: random.Random) -> Script:
    """A preferred election brings back the coordinator that failed before the member left.

    The first request makes the preferred leader the one that fails.  Other requests of the schedule may elect
    it before the member leaves; then the gambit ends.
    """
    return (
        Request(ElectLeaders(ElectionType.PREFERRED), answered=True),
        Pass(source.randint(300, 1_000)),
        ChooseCoordinator(fresh_draw(source)),
        InjectAll((FaultAt("f1", "leader", source.choice((Kill, Stop))()),)),
        _GONE,
        HealAll(("f1",)),
        _IN_SYNC,
        _LEFT,
        Until(LedByAnother(("leader",)), _AT_ONCE_MS),
        RequestForChosen(ElectChosen(ElectionType.PREFERRED)),
        Until(LedBy("leader"), SEVERAL_S_MS),
        _STILL_AWAY,
        Pass(source.randint(0, 1_000)),
        _IN_SYNC,
    )
