"""Gambits about the replicas of one partition: cancelled moves, stale leaders, deleted records.

They are drawn in the same way as those of `harness.plan.gambits`, which has the table of all gambits.
"""

import random
from collections.abc import Iterator

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
from harness.vocabulary.administration import ElectionType
from harness.vocabulary.faults import (
    Fault,
    HeldReports,
    HeldRequests,
    Kill,
    LossPattern,
    PacketLoss,
    Partition,
    Pattern,
    Pause,
    PowerLoss,
    Stop,
    TornWrite,
)
from harness.vocabulary.gambits import (
    AllInSync,
    BeingAdded,
    ChooseNewcomers,
    ChoosePartition,
    DeleteFromChosen,
    ElectChosen,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    InSyncAlone,
    Leaderless,
    LedBy,
    LedByAnother,
    OutOfSync,
    ReassignChosen,
    RecordsDeleted,
    RequestForChosen,
    Until,
    WaitAtMost,
)
from harness.vocabulary.moves import Acknowledged, NothingMoves, Pass
from harness.vocabulary.topology import Among, DiskKind, Topology

_LATE_MS = (4_000, 8_000)
"""Packets that were delayed for about this long are retransmitted within the same time."""
_AWAY_CHANCE = 0.7
_HELD_MS = (200, 6_000)
"""TCP retransmits after 0.2 s, and doubles this time with each further retransmission."""
_LOST_PERCENT = (20, 60)
_BEFORE_FENCED_MS = (500, 1_000)
"""With the proofs of faults less than `broker.session.timeout.ms`; enough time to request a deletion."""
_BEFORE_OUT_OF_SYNC_MS = (500, 2_000)
"""The same for `replica.lag.time.max.ms`: a broker that reaches controllers is not fenced."""


def cancelled_copy(source: random.Random, _: Topology) -> Script:
    """A move is cancelled or overridden before its copy is complete; then the leader may be killed."""
    kept, leaving = shuffled(source, REPLICAS[:2])
    wanted = shuffled(source, (kept, "newcomer-1"))
    deaf = Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=fresh_draw(source))
    cancelled = source.random() < 0.7  # noqa: PLR2004 - a chance
    instead = ("newcomer-2", source.choice(("newcomer-1", leaving)))
    moves: list[GambitMove] = [
        ChoosePartition(fresh_draw(source)),
        ChooseNewcomers(fresh_draw(source), count=2),
        InjectAll((FaultAt("f1", "newcomer-1", deaf),)),
        RequestForChosen(ReassignChosen(wanted, SLOW_BYTES_PER_S if even(source) else None)),
        Until(BeingAdded("newcomer-1"), 5_000),
        Until(Acknowledged(source.randint(1, 20)), 10_000),
    ]
    copying = even(source)
    # The new broker reconnects within a second, and then copies for about a second.
    moves += [HealAll(("f1",)), Pass(source.randint(0, 1_500))] if copying else []
    moves.append(RequestForChosen(ReassignChosen(None if cancelled else shuffled(source, instead))))
    moves += [Until(NothingMoves(), SEVERAL_S_MS)] if cancelled else []
    names = [] if copying else ["f1"]
    if even(source):
        moves += [Pass(source.randint(0, 300)), InjectAll((FaultAt("f2", "leader", Kill()),))]
        moves.append(Until(LedByAnother(("leader",)), SEVERAL_S_MS))
        names.append("f2")
    moves += [HealAll(shuffled(source, names), source.randint(0, 1_000))] if names else []
    return *moves, Until(NothingMoves(), BACK_MS), Until(AllInSync(), BACK_MS)


def stale_elected(source: random.Random, _: Topology) -> Script:
    """The last replica in sync fails; one without its records is elected uncleanly; the first returns."""
    others = faults_at([(part, source.choice((Stop, Kill))()) for part in shuffled(source, FOLLOWERS)])
    stale, other = shuffled(source, [aimed.name for aimed in others])
    by_config = even(source)
    elect = RequestForChosen(ElectChosen(ElectionType.UNCLEAN))
    # A restarted broker registers a second or two after it answers; the second election may be needless.
    asked = () if by_config else (Until(Leaderless(), SEVERAL_S_MS), elect, Pass(2_000), elect)
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered(MIN_ISR, "1"),
        InjectAll(others, source.choice((0, source.randint(200, 2_000)))),
        Until(InSyncAlone("leader"), SEVERAL_S_MS),
        Until(Acknowledged(source.randint(20, 200)), 10_000),
        *((altered(UNCLEAN, "true"),) if by_config else ()),
        InjectAll((FaultAt("f3", "leader", source.choice((Kill, Stop))()),)),
        Pass(source.randint(0, 2_000)),
        HealAll((stale,)),
        *asked,
        Until(LedByAnother(("leader",)), SEVERAL_S_MS),
        Until(Acknowledged(source.randint(1, 30)), 10_000),
        HealAll(shuffled(source, ("f3", other)), source.randint(0, 2_000)),
        *((altered(UNCLEAN, "false"),) if by_config else ()),
        Until(AllInSync(), BACK_MS),
    )


def eligible_again(source: random.Random, topology: Topology) -> Script:
    """Replicas fail one by one, cleanly or not, until there is no leader; they return in random order.

    The last leader, which has all acknowledged records, keeps its data.
    """
    ends: tuple[Fault, ...] = (Stop(), Kill())
    power = () if topology.disk is DiskKind.FOLDER else (PowerLoss(),)
    followers = [(part, source.choice((*ends, *power))) for part in shuffled(source, FOLLOWERS)]
    first, second, last = faults_at([*followers, ("leader", source.choice(ends))])
    back: list[GambitMove] = []
    for name in shuffled(source, (first.name, second.name, last.name)):
        back += [HealAll((name,)), Pass(source.randint(0, 3_000))]
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered(MIN_ISR, "2"),
        InjectAll((first,)),
        Until(OutOfSync(first.at), SEVERAL_S_MS),
        InjectAll((second,)),
        Until(InSyncAlone("leader"), SEVERAL_S_MS),
        Pass(source.randint(0, 1_500)),
        InjectAll((last,)),
        Pass(source.randint(0, 4_000)),
        *back,
        Until(AllInSync(), BACK_MS),
    )


def trimmed_log(source: random.Random, _: Topology) -> Script:
    """Twice, replicas fail within 200 ms of a deletion of the partition's oldest records."""
    rounds: list[GambitMove] = []
    number = 1
    for _round in range(2):
        parts = source.choice((("leader",), ("leader",), FOLLOWERS[:1], REPLICAS))
        ends = source.choice((Kill, Kill, Stop))
        faults = faults_at([(part, ends()) for part in shuffled(source, parts)], first=number)
        number += len(faults)
        rounds += [Until(RecordsDeleted(), BACK_MS), Pass(source.randint(0, 200))]
        rounds += [InjectAll(faults, source.randint(0, AT_ONCE_MS)), Pass(source.randint(0, 2_000))]
        rounds += [
            HealAll(shuffled(source, [aimed.name for aimed in faults])),
            Until(AllInSync(), BACK_MS),
        ]
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered("segment.ms", source.choice(SEGMENT_MS)),
        *rounds,
    )


def trimmed_while_held(source: random.Random, _: Topology) -> Script:
    """One follower is delayed while the oldest records are deleted; the others are killed, and it leads.

    The delay is too short for the follower to be fenced or to leave the ISR.  So the deletion must not be
    acknowledged until this follower has carried it out too.
    """
    deaf = Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=fresh_draw(source))
    hold, within_ms = source.choice(((Pause(), _BEFORE_FENCED_MS), (deaf, _BEFORE_OUT_OF_SYNC_MS)))
    rest = faults_at([(part, Kill()) for part in shuffled(source, ("leader", "follower-2"))], first=2)
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        InjectAll((FaultAt("f1", "follower-1", hold),)),
        DeleteFromChosen(source.randint(10, 60) / 100),
        WaitAtMost(RecordsDeleted(), source.randint(*within_ms)),
        InjectAll(rest, source.randint(0, AT_ONCE_MS)),
        HealAll(("f1",)),
        Until(LedBy("follower-1"), SEVERAL_S_MS),
        # Consumers read meanwhile; if two replicas must be in sync, nothing is acknowledged.
        WaitAtMost(Acknowledged(source.randint(20, 200)), 2_500),
        HealAll(shuffled(source, [aimed.name for aimed in rest]), source.randint(0, 2_000)),
        Until(AllInSync(), BACK_MS),
    )


def refused_batches(source: random.Random, _: Topology) -> Script:
    """One of three replicas is down, and three, then two in sync are required: some batches are refused."""
    turns = tuple(_three_and_two(source, source.randint(3, 4)))
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered(MIN_ISR, "2"),
        InjectAll((FaultAt("f1", "follower-1", source.choice((Stop, Kill, Pause))()),)),
        Until(OutOfSync("follower-1"), SEVERAL_S_MS),
        *turns,
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
    )


def lossy_sends(source: random.Random, _: Topology) -> Script:
    """Packets from clients to a leader are lost, while batches are refused or the leader changes."""
    loss = PacketLoss(LossPattern.CLIENTS, percent=source.randint(*_LOST_PERCENT), draw=fresh_draw(source))
    lossy = (InjectAll((FaultAt("f1", "leader", loss),)), Pass(source.randint(200, 3_000)))
    ended = (
        HealAll(shuffled(source, ("f1", "f2")), source.randint(0, 1_000)),
        Pass(source.randint(500, 2_500)),
        Until(AllInSync(), BACK_MS),
    )
    if even(source):
        goes = source.choice((isolated_one(source), Pause(), Kill()))
        return (
            ChoosePartition(fresh_draw(source)),
            *lossy,
            InjectAll((FaultAt("f2", "leader", goes),)),
            Until(LedByAnother(("leader",)), SEVERAL_S_MS),
            *ended,
        )
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        altered(MIN_ISR, "2"),
        InjectAll((FaultAt("f2", "follower-1", source.choice((Stop, Kill, Pause))()),)),
        Until(OutOfSync("follower-1"), SEVERAL_S_MS),
        *lossy,
        *_three_and_two(source, 2),
        *ended,
    )


def _three_and_two(source: random.Random, times: int) -> Iterator[GambitMove]:
    """Alternate ``min.insync.replicas`` between three and two, several times."""
    for least in ("3", "2") * times:
        yield altered(MIN_ISR, least)
        yield Pass(source.randint(100, 700))


def torn_writes(source: random.Random, _: Topology) -> Script:
    """Replicas of a partition are killed in the middle of writes, to every log that they have."""
    parts = shuffled(source, REPLICAS)[: source.choice((1, 2, 3))]
    faults = faults_at([(part, TornWrite(draw=fresh_draw(source))) for part in parts])
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        Until(Acknowledged(source.randint(1, 20)), 5_000),
        InjectAll(faults, source.randint(0, AT_ONCE_MS)),
        Pass(source.randint(0, 2_000)),
        HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, 2_000)),
        Until(AllInSync(), BACK_MS),
    )


def late_reports(source: random.Random, _: Topology) -> Script:
    """A leader's AlterPartition request arrives after the leader has restarted and registered again.

    The request is to add a follower, which often is down by then.  The leader first requests an ISR without
    the follower.  This opens the connection that is delayed later, because only existing ones are delayed.
    """
    deaf = Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=fresh_draw(source))
    moves: list[GambitMove] = [
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        InjectAll((FaultAt("f1", "follower-1", deaf),)),
        Until(OutOfSync("follower-1"), SEVERAL_S_MS),
        InjectAll((FaultAt("f2", "leader", HeldReports(draw=fresh_draw(source))),)),
        HealAll(("f1",)),
        # The follower reconnects within a second, and then catches up within about a second.
        Pass(source.randint(1_500, 3_500)),
        InjectAll((FaultAt("f3", "leader", Kill()),)),
        HealAll(("f3",), source.randint(0, 500)),
        Until(AllInSync(), BACK_MS),
    ]
    away = source.random() < _AWAY_CHANCE
    if away:
        ends = source.choice((Stop, Kill))
        moves += [
            InjectAll((FaultAt("f4", "follower-1", ends()),)),
            Until(OutOfSync("follower-1"), SEVERAL_S_MS),
        ]
    moves += [HealAll(("f2",)), Pass(source.randint(*_LATE_MS))]
    moves += [HealAll(("f4",))] if away else []
    return *moves, Until(AllInSync(), BACK_MS)


def held_sends(source: random.Random, _: Topology) -> Script:
    """Some clients' sends to a leader arrive late: after a retry, or after another broker has led."""
    moves: list[GambitMove] = [
        ChoosePartition(fresh_draw(source)),
        InjectAll((FaultAt("f1", "leader", HeldRequests(draw=fresh_draw(source))),)),
        Pass(source.randint(*_HELD_MS)),
    ]
    names = ["f1"]
    if even(source):
        moves += [
            InjectAll((FaultAt("f2", "leader", isolated_one(source)),)),
            Until(LedByAnother(("leader",)), SEVERAL_S_MS),
        ]
        names.append("f2")
    return (
        *moves,
        HealAll(shuffled(source, names), source.randint(0, 500)),
        Pass(source.randint(500, 2_500)),
        Until(AllInSync(), BACK_MS),
    )
