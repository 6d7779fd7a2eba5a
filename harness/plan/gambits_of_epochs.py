"""Gambits about leaders that append records, or a change of the ISR, that no other node gets.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random
from collections.abc import Iterator

from harness.plan.gambit_pieces import (
    AT_ONCE_MS,
    BACK_MS,
    REPLICAS,
    SEVERAL_S_MS,
    Script,
    even,
    faults_at,
    fresh_draw,
    isolated_one,
    shuffled,
)
from harness.vocabulary.administration import ElectionType
from harness.vocabulary.faults import Fault, Flavour, Kill, Partition, Pattern, Pause
from harness.vocabulary.gambits import (
    AllInSync,
    ChoosePartition,
    ChooseQuorum,
    ChooseSuccessor,
    ElectChosen,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    LedBy,
    LedByAnother,
    Part,
    ReassignChosen,
    RequestForChosen,
    Until,
    WaitAtMost,
)
from harness.vocabulary.moves import Acknowledged, Pass
from harness.vocabulary.topology import Among, Topology

_LAGGING_MS = (4_500, 6_000)
"""A leader looks every 3 s for followers that have lagged for 6 s (`replica.lag.time.max.ms`).  So its
request is due up to 4 s after this time and the proof of a fault."""
_UNHEARD_MS = (2_000, 4_500)
_FROZEN_MS = (7_000, 10_000)
"""More than `replica.lag.time.max.ms` and, in most cases, the time until the leader looks next."""
_OTHERS_CHANCE = 0.7
_LED_ANEW = LedByAnother(("leader",))
_ALONE_MS = (200, 1_500)
_TURN_MS = (200, 900)
"""The next leader is elected before this one has looked for followers that lag."""


def held_shrink(source: random.Random, topology: Topology) -> Script:
    """A leader can't report that a follower lags; then the leader fails, and the follower is healed first.

    The controllers still count the follower as in sync, so it may lead next, and the leader must acknowledge
    nothing that the follower lacks.  The leader can't reach the active controller, or this one is frozen, or
    the voters have no majority.  In `held-follower` the follower lags too briefly to be removed from the ISR,
    in `isr-and-controller` its removal was carried out, and in `late-reports` it is added.
    """
    silent, frozen = _silent_controllers(source, topology)
    hold = Pause() if frozen else _deaf(source)
    lag: Script = (InjectAll((FaultAt("f1", "follower-1", hold), *silent)), Pass(source.randint(*_FROZEN_MS)))
    if not frozen:
        lag = (
            InjectAll((FaultAt("f1", "follower-1", hold),)),
            Pass(source.randint(*_LAGGING_MS)),
            InjectAll(silent),
            Pass(source.randint(*_UNHEARD_MS)),
        )
    goes = source.choice((Kill(), Kill(), isolated_one(source)))
    rest: list[tuple[Part, Fault]] = [("leader", goes)]
    if source.random() < _OTHERS_CHANCE:
        rest.append(("follower-2", Kill()))
    gone = faults_at(list(shuffled(source, rest)), first=2 + len(silent))
    next_led = WaitAtMost(LedBy("follower-1"), 10_000) if len(rest) > 1 else WaitAtMost(_LED_ANEW, 10_000)
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        ChooseQuorum(fresh_draw(source)),
        *lag,
        InjectAll(gone, source.randint(0, AT_ONCE_MS)),
        HealAll(("f1", *(aimed.name for aimed in silent)), source.randint(0, 500)),
        next_led,
        WaitAtMost(Acknowledged(source.randint(20, 200)), 2_500),
        HealAll(shuffled(source, [aimed.name for aimed in gone]), source.randint(0, 2_000)),
        Until(AllInSync(), BACK_MS),
    )


def lone_epochs(source: random.Random, _: Topology) -> Script:
    """Three replicas lead one after the other, and none gets the records of another; then all return.

    The second leader's epoch is on its own disk only.  When this replica returns, it asks the third leader
    about an epoch which that one does not have, and it must remove the whole epoch.
    """
    goes = source.choice((isolated_one(source), isolated_one(source), Kill(), Pause()))
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        # The others can't fetch from it, nor it from them, but it reaches controllers and may be elected.
        InjectAll((FaultAt("f1", "follower-2", _deaf(source)),)),
        InjectAll((FaultAt("f2", "leader", isolated_one(source)),)),
        Until(_LED_ANEW, SEVERAL_S_MS),
        ChooseSuccessor(),
        Pass(source.randint(*_ALONE_MS)),
        InjectAll((FaultAt("f3", "successor", goes),)),
        Until(LedByAnother(("leader", "successor")), SEVERAL_S_MS),
        Pass(source.randint(*_ALONE_MS)),
        HealAll(shuffled(source, ("f1", "f2", "f3")), source.randint(0, 1_500)),
        Until(AllInSync(), BACK_MS),
    )


def alternating_leaders(source: random.Random, _: Topology) -> Script:
    """Preferred elections move a leadership among replicas that are in sync and can't fetch from each other.

    Each leader appends records in an epoch that no other replica has.  A replica that has led twice has an
    epoch before and one after that of another.  When all can fetch again, all except the last leader remove
    such epochs, several of them if they led before.  If the last leader is killed, it removes its own too.
    """
    order = [*shuffled(source, REPLICAS[1:]), "leader"]
    turns = (order[0], *source.choice(((order[2], order[0]), (order[2], order[1]), (order[1], order[0]))))
    moves: list[GambitMove] = [
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        # One after the other, because the proof of each counts the packets that it drops.
        InjectAll((FaultAt("f1", order[0], _deaf(source)),)),
        InjectAll((FaultAt("f2", "leader", _deaf(source)),)),
    ]
    for part in turns:
        moves += _led_by(source, part)
    names = ["f1", "f2"]
    if even(source):
        moves.append(InjectAll((FaultAt("f3", turns[-1], Kill()),)))
        moves.append(Until(LedByAnother((turns[-1],)), SEVERAL_S_MS))
        names.append("f3")
    return (
        *moves,
        HealAll(shuffled(source, names), source.randint(0, 1_500)),
        Until(AllInSync(), BACK_MS),
    )


def _silent_controllers(source: random.Random, topology: Topology) -> tuple[tuple[FaultAt, ...], bool]:
    """Faults by which a leader's requests to controllers are lost or delayed; whether a follower may freeze.

    A frozen follower would be fenced if there were an active controller.
    """
    way = source.choice(("link", "link", "active", "majority", "majority"))
    if way == "link":
        link = Partition(Pattern.LINK, flavour=source.choice((Flavour.DROP, Flavour.DROP, Flavour.REJECT)))
        return (FaultAt("f2", "leader", link, to="controller"),), False
    ends = source.choice((Pause, Kill)) if way == "majority" else Pause
    others = len(topology.voters()) // 2 if way == "majority" else 0
    parts = ("controller", *(f"voter-{number}" for number in range(1, others + 1)))
    frozen = way == "majority" and even(source)
    return faults_at([(part, ends()) for part in parts], first=2), frozen


def _led_by(source: random.Random, part: str) -> Iterator[GambitMove]:
    """Make a replica the preferred leader, and elect it; it leads for a moment."""
    yield RequestForChosen(ReassignChosen((part, *(other for other in REPLICAS if other != part))))
    yield RequestForChosen(ElectChosen(ElectionType.PREFERRED))
    yield Until(LedBy(part), 3_000)
    yield Pass(source.randint(*_TURN_MS))


def _deaf(source: random.Random) -> Partition:
    """A cut between a broker and all other brokers; it still reaches controllers, so it is not fenced."""
    return Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=fresh_draw(source))
