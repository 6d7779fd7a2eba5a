"""Gambits about topics: reassigned, reconfigured, deleted, truncated, or hit by a loss of power.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random

from harness.plan.gambit_pieces import (
    AT_ONCE_MS,
    BACK_MS,
    FOLLOWERS,
    MIN_ISR,
    REPLICAS,
    SEGMENT_MS,
    SEVERAL_S_MS,
    SLOW_BYTES_PER_S,
    UNCLEAN,
    Script,
    altered,
    even,
    faults_at,
    fresh_draw,
    isolated_one,
    shuffled,
)
from harness.vocabulary.administration import AlterSome, ElectionType
from harness.vocabulary.faults import Kill, Pause, PowerLoss, Stop
from harness.vocabulary.gambits import (
    AllInSync,
    BeingAdded,
    ChooseNewcomers,
    ChoosePartition,
    ChooseQuorum,
    ElectChosen,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    InSyncAlone,
    Joined,
    LedBy,
    LedByAnother,
    OutOfSync,
    QuorumLedByAnother,
    ReassignChosen,
    Request,
    RequestForChosen,
    TopicsRemoved,
    Until,
    WaitAtMost,
)
from harness.vocabulary.moves import Acknowledged, NothingMoves, Pass
from harness.vocabulary.topology import Topology

_NEW_PAIR = ("leader", "newcomer-1")


def copies_power(source: random.Random, _: Topology) -> Script:
    """Two or three replicas of a partition lose power immediately after an acknowledged write or change."""
    parts = shuffled(source, REPLICAS)[: source.choice((2, 3))]
    faults = faults_at([(part, PowerLoss()) for part in parts])
    written = Until(Acknowledged(source.randint(1, 20)), 5_000)
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        source.choice((written, written, Request(AlterSome(fresh_draw(source)), answered=True))),
        Pass(source.randint(0, 100)),
        InjectAll(faults, source.randint(0, AT_ONCE_MS)),
        Pass(source.randint(0, 2_000)),
        HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, 2_000)),
        Until(AllInSync(), BACK_MS),
    )


def reassignment(source: random.Random, _: Topology) -> Script:
    """A partition moves slowly, or to a broker that is down; this is completed, cancelled or overridden.

    Meanwhile its leader or the active controller may be killed.  An override adds one broker and removes
    another: otherwise Kafka acknowledges it and does not carry it out (docs/findings.md).
    """
    kept, leaving = shuffled(source, REPLICAS[:2])
    wanted = shuffled(source, (kept, "newcomer-1"))
    away = source.choice((Pause(), Kill(), Stop(), isolated_one(source), None))
    moves: list[GambitMove] = [ChoosePartition(fresh_draw(source)), ChooseQuorum(fresh_draw(source))]
    moves.append(ChooseNewcomers(fresh_draw(source), count=2))
    if away is None:
        moves.append(RequestForChosen(ReassignChosen(wanted, SLOW_BYTES_PER_S)))
    else:
        moves += [
            InjectAll((FaultAt("f1", "newcomer-1", away),)),
            RequestForChosen(ReassignChosen(wanted)),
        ]
        moves.append(Until(BeingAdded("newcomer-1"), 5_000))
    moves.append(Pass(source.randint(0, 1_500)))
    names = [] if away is None else ["f1"]
    if away is None or even(source):
        ends = source.choice(("leader", "controller", "controller"))
        moves.append(InjectAll((FaultAt("f2", ends, Kill()),)))
        moves += [Until(QuorumLedByAnother("controller"), SEVERAL_S_MS)] if ends == "controller" else []
        names.append("f2")
    then = source.choice(("completed", "cancelled", "overridden"))
    if then != "completed":
        instead = ("newcomer-2", source.choice(("newcomer-1", leaving)))
        moves.append(
            RequestForChosen(ReassignChosen(None if then == "cancelled" else shuffled(source, instead)))
        )
    return (
        *moves,
        Pass(source.randint(0, 1_000)),
        HealAll(shuffled(source, names), source.randint(0, 1_000)),
        Until(NothingMoves(), BACK_MS),
        Until(AllInSync(), BACK_MS),
    )


def kept_leader(source: random.Random, _: Topology) -> Script:
    """The leader keeps its place in a reassignment of the others; then it leads no more, and again.

    Its process goes on with the same log while its followers are other brokers.  Then it fails or a follower
    falls out of the ISR, in random order.  In `reassignment` and `cancelled-copy` the move can't end at once,
    and a leader may lose its place.
    """
    moved: list[GambitMove] = []
    # From two replicas to two, three, or three and back.
    wanted = source.choice((_NEW_PAIR, _NEW_PAIR, ("leader", "newcomer-1", "newcomer-2")))
    for parts in (wanted,) if wanted == _NEW_PAIR else (wanted, ("leader", "newcomer-2")):
        moved += [
            RequestForChosen(ReassignChosen(parts)),
            Until(Joined(parts[-1]), SEVERAL_S_MS),
            WaitAtMost(NothingMoves(), 5_000),
        ]
    follower = wanted[-1]
    moves_away: Script = (
        InjectAll((FaultAt("f1", "leader", source.choice((Kill, Kill, Stop, Pause))()),)),
        Until(LedByAnother(("leader",)), SEVERAL_S_MS),
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
        RequestForChosen(ElectChosen(ElectionType.PREFERRED)),
        WaitAtMost(LedBy("leader"), 3_000),
    )
    shrinks: Script = (
        InjectAll((FaultAt("f2", follower, source.choice((Kill, Pause, Stop))()),)),
        Until(OutOfSync(follower), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        HealAll(("f2",)),
    )
    return (
        ChoosePartition(fresh_draw(source)),
        ChooseNewcomers(fresh_draw(source), count=2),
        *moved,
        *((*shrinks, Until(AllInSync(), BACK_MS), *moves_away) if even(source) else (*moves_away, *shrinks)),
        Until(AllInSync(), BACK_MS),
    )


def switched_configs(source: random.Random, _: Topology) -> Script:
    """An ISR shrinks to one replica while configs change; it fails, and others may or must not lead."""
    away = source.choice((Stop, Kill, Pause))
    others = faults_at([(part, away()) for part in shuffled(source, FOLLOWERS)])
    allowed = even(source)
    forbidden = () if allowed else (altered(UNCLEAN, "false"),)
    without = Until(LedByAnother(("leader",)), SEVERAL_S_MS) if allowed else Pass(source.randint(500, 3_000))
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered(MIN_ISR, source.choice("123")),
        InjectAll(others, source.choice((0, source.randint(200, 2_000)))),
        altered(MIN_ISR, source.choice("12")),
        Until(InSyncAlone("leader"), SEVERAL_S_MS),
        altered(UNCLEAN, "true"),
        *forbidden,
        Pass(source.randint(0, 1_000)),
        InjectAll((FaultAt("f3", "leader", source.choice((Kill, Stop))()),)),
        HealAll(shuffled(source, [aimed.name for aimed in others]), source.randint(0, 1_500)),
        without,
        altered(UNCLEAN, "false"),
        HealAll(("f3",)),
        Until(AllInSync(), BACK_MS),
        altered(MIN_ISR, "1"),
    )


def absent_replica(source: random.Random, _: Topology) -> Script:
    """Topics are deleted, and some created again, while a broker with replicas of them is down."""
    away = source.choice((Kill(), Stop(), Pause(), isolated_one(source)))
    moves: list[GambitMove] = [
        ChoosePartition(fresh_draw(source)),
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", "follower-1", away),)),
        Until(OutOfSync("follower-1"), SEVERAL_S_MS),
        Until(TopicsRemoved(source.randint(2, 5)), SEVERAL_S_MS),
    ]
    names = ["f1"]
    if even(source):
        moves += [InjectAll((FaultAt("f2", "controller", Kill()),)), Pass(source.randint(0, 3_000))]
        names.append("f2")
    return *moves, HealAll(shuffled(source, names), source.randint(0, 1_000)), Until(AllInSync(), BACK_MS)


def interrupted_truncation(source: random.Random, _: Topology) -> Script:
    """Only clients can reach a leader with small segments; it is killed when it has to truncate."""
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered("segment.ms", source.choice(SEGMENT_MS)),
        InjectAll((FaultAt("f1", "leader", isolated_one(source)),)),
        Until(LedByAnother(("leader",)), SEVERAL_S_MS),
        Pass(source.randint(200, 2_500)),
        HealAll(("f1",)),
        # It truncates within a few hundred milliseconds, and removes files a second after that.
        Pass(source.randint(0, 700)),
        InjectAll((FaultAt("f2", "leader", source.choice((Kill, Kill, Stop))()),)),
        Pass(source.randint(0, 800)),
        HealAll(("f2",)),
        Until(AllInSync(), BACK_MS),
    )


def interrupted_cleaning(source: random.Random, _: Topology) -> Script:
    """Replicas are killed one after the other while segments are rolled, deleted and cleaned."""
    rounds: list[GambitMove] = []
    for number, part in enumerate(source.choices(REPLICAS, k=source.randint(2, 3)), start=1):
        ends = source.choice((Kill, Kill, Stop))()
        rounds += [Pass(source.randint(0, 1_500)), InjectAll((FaultAt(f"f{number}", part, ends),))]
        rounds += [Pass(source.randint(0, 300)), HealAll((f"f{number}",))]
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered("segment.ms", source.choice(SEGMENT_MS)),
        Pass(source.randint(300, 1_500)),
        *rounds,
        Until(AllInSync(), BACK_MS),
    )
