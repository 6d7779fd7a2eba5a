"""Gambits about the active controller: changes that it commits or must undo, and voters that can't hear it.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random

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
    ElectionType,
    ElectSome,
    ReassignSome,
)
from harness.vocabulary.faults import Kill, Partition, Pattern, Pause, PowerLoss, Stop
from harness.vocabulary.gambits import (
    AddPart,
    AllInSync,
    ChoosePartition,
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
    WaitAtMost,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Among, Topology

_AT_THE_CHANGE_MS = 100
_WITHOUT_LEADER_MS = (2_500, 5_500)
"""More than ``controller.quorum.fetch.timeout.ms``, 2 s, after which a voter requests pre-votes."""
_LAGGING_MS = (4_500, 6_000)
"""The leader requests an ISR without a follower that has lagged for 6 s, within 3 s after that."""
_BEFORE_FENCED_MS = (1_000, 2_200)
"""With the proof of its fault a broker is fenced, 3 s after its last heartbeat, soon after this time."""
_FEW_VOTERS = 3
_CUT_OFF = Partition(Pattern.ISOLATE_ONE, among=Among.CONTROLLERS)


def cut_off_controller(source: random.Random, _: Topology) -> Script:
    """The active controller is cut off from the other voters; brokers reach it, and changes are requested."""
    changes: list[Drawn] = [ElectSome(ElectionType.PREFERRED, fresh_draw(source))]
    changes += [ReassignSome(fresh_draw(source)), ReassignSome(fresh_draw(source))]
    return (
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", "controller", _CUT_OFF),)),
        *(Request(operation) for operation in source.sample(changes, 2)),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
    )


def voters_power(source: random.Random, topology: Topology) -> Script:
    """A majority of the voters, or all, lose power immediately after a change was acknowledged."""
    voters = len(topology.voters())
    lost = source.choice((voters // 2 + 1, voters))
    parts = ("controller", *(f"voter-{n}" for n in range(1, lost)))
    faults = faults_at([(part, PowerLoss()) for part in shuffled(source, parts)])
    changes: list[Drawn] = [
        AlterSome(fresh_draw(source)),
        AlterSome(fresh_draw(source)),
        ReassignSome(fresh_draw(source)),
    ]
    return (
        ChooseQuorum(fresh_draw(source)),
        Request(source.choice(changes), answered=True),
        Pass(source.randint(0, 100)),
        InjectAll(faults, source.randint(0, AT_ONCE_MS)),
        Pass(source.randint(0, 1_500)),
        HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, 1_500)),
        Until(QuorumLed(), SEVERAL_S_MS),
        Until(AllInSync(), BACK_MS),
    )


def unfinished_change(source: random.Random, topology: Topology) -> Script:
    """The leader fails within 100 ms of a request to add or remove another voter, or of its answer.

    The next leader has the change in its log or not, and its voters are recorded before and after the first
    one returns.  In half of the cases the next leader is frozen later, so that a node leads that may have had
    to undo the change.  In `departing-leader` the leader itself is removed.  In `uncommitted-voters` it can't
    reach a voter, so the change is never committed.
    """
    added, answered = even(source), even(source)
    what = AddPart("voter-1") if added else RemovePart("voter-1")
    # Twice: a broker may forward the first request to a controller that no longer leads.
    removal = RequestForChosen(RemovePart("voter-1"))
    before: Script = (removal, removal, Until(Observing("voter-1"), SEVERAL_S_MS))
    ends = source.choice((Kill(), Kill(), Pause(), _CUT_OFF))
    # Of three voters, one that is added or removed and the leader may both be missing for a majority.
    enough = len(topology.voters()) > _FEW_VOTERS
    led: GambitMove = Until(QuorumLedByAnother("controller"), SEVERAL_S_MS)
    again: Script = (
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f2", "controller", Pause()),)),
        led if enough else WaitAtMost(QuorumLedByAnother("controller"), 5_000),
        HealAll(("f2",)),
    )
    return (
        Request(AddVoter(), answered=True),
        ChooseQuorum(fresh_draw(source)),
        *(before if added else ()),
        RequestForChosen(what, answered=answered),
        Pass(source.randint(0, _AT_THE_CHANGE_MS)),
        InjectAll((FaultAt("f1", "controller", ends),)),
        led if enough else WaitAtMost(QuorumLedByAnother("controller"), 5_000),
        WaitAtMost(Observing("voter-1"), 1_000),
        HealAll(("f1",)),
        Until(QuorumLed(), SEVERAL_S_MS),
        *(again if even(source) else ()),
        Request(AddVoter(), answered=True),
        Until(AllInSync(), BACK_MS),
    )


def deaf_voter(source: random.Random, _: Topology) -> Script:
    """Two or three times, a voter does not hear the leader, but the other voters, which follow the leader.

    It asks them for pre-votes (KIP-996), while it lags behind changes that were committed without it.  They
    must refuse as long as they hear the leader.  In some cases the voter restarts meanwhile.  The last time
    the leader may fail, so that its vote is needed.
    """
    rounds = source.choice((2, 2, 3))
    moves: list[GambitMove] = []
    number = 1
    for left in reversed(range(rounds)):
        pattern = source.choice((Pattern.LINK, Pattern.ONE_WAY_LINK, Pattern.ONE_WAY_LINK))
        link = Partition(pattern, among=Among.CONTROLLERS, inward=even(source))
        cut = FaultAt(f"f{number}", "voter-1", link, to="controller")
        moves += [ChooseQuorum(fresh_draw(source)), InjectAll((cut,)), Request(_change(source))]
        moves.append(Pass(source.randint(*_WITHOUT_LEADER_MS)))
        names = [cut.name]
        ends = source.choice(("nobody", "nobody", "voter-1", "controller"))
        if ends == "voter-1" or (ends == "controller" and not left):
            number += 1
            names.append(f"f{number}")
            moves.append(InjectAll((FaultAt(names[-1], ends, Kill()),)))
        if len(names) > 1 and ends == "voter-1":
            moves += [HealAll((names.pop(),)), Pass(source.randint(*_WITHOUT_LEADER_MS))]
        if len(names) > 1:
            moves.append(Until(QuorumLedByAnother("controller"), SEVERAL_S_MS))
        moves += [HealAll(shuffled(source, names), source.randint(0, 1_000)), Pass(source.randint(0, 1_000))]
        number += 1
    return (*moves, Until(QuorumLed(), SEVERAL_S_MS), Until(AllInSync(), BACK_MS))


def uncommitted_changes(source: random.Random, _: Topology) -> Script:
    """The active controller, cut off from the voters, appends changes that brokers cause, and must undo them.

    A follower's lag or the end of a broker is due to be written when the controller is cut off.  Changes of a
    config and of replicas are requested too.  Then it is healed, or killed first, so that it must undo all as
    it starts.  In `cut-off-controller` nothing but requested moves and elections is appended.
    """
    deaf = Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=fresh_draw(source))
    cause = source.choice(("lag", "fenced", "stopped"))
    before: Script = ()
    if cause != "stopped":
        fault, wait_ms = (deaf, _LAGGING_MS) if cause == "lag" else (Kill(), _BEFORE_FENCED_MS)
        before = (InjectAll((FaultAt("f1", "follower-1", fault),)), Pass(source.randint(*wait_ms)))
    # A controlled shutdown moves leaders and leaves ISRs at once.
    stop = FaultAt("f1", source.choice(("leader", "follower-1")), Stop())
    asked = [Request(AlterSome(fresh_draw(source))), Request(ReassignSome(fresh_draw(source)))]
    killed = even(source)
    gone: Script = (Pass(source.randint(300, 1_500)), InjectAll((FaultAt("f3", "controller", Kill()),)))
    names = ("f1", "f2", "f3") if killed else ("f1", "f2")
    return (
        ChoosePartition(fresh_draw(source)),
        ChooseQuorum(fresh_draw(source)),
        *before,
        InjectAll((FaultAt("f2", "controller", _CUT_OFF),)),
        *shuffled(source, asked),
        *((InjectAll((stop,)),) if cause == "stopped" else ()),
        *(gone if killed else ()),
        Until(QuorumLedByAnother("controller"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        HealAll(shuffled(source, names), source.randint(0, 1_000)),
        Until(AllInSync(), BACK_MS),
    )


def _change(source: random.Random) -> Drawn:
    return source.choice((AlterSome, AlterSome, ReassignSome))(fresh_draw(source))
