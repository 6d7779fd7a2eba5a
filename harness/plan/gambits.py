"""The gambits of random schedules by name, each a function that draws its script; pure.

Each leads to an edge case of Kafka's guarantees: a replica that lagged and is then the only one left, a
partition whose last replica in sync fails, a controller that fails together with the leader whose ISR it
has just changed.  These states last milliseconds, so faults are short, and they wait for conditions instead
of fixed times.
"""

import random
from collections.abc import Callable, Iterator, Sequence

from harness.plan.gambit_pieces import (
    AT_ONCE_MS,
    BACK_MS,
    FOLLOWERS,
    REPLICAS,
    SEVERAL_S_MS,
    Recipe,
    Script,
    faults_at,
    fresh_draw,
    isolated_one,
    shuffled,
)
from harness.plan.gambits_of_controllers import (
    cut_off_controller,
    deaf_voter,
    uncommitted_changes,
    unfinished_change,
    voters_power,
)
from harness.plan.gambits_of_epochs import alternating_leaders, held_shrink, lone_epochs
from harness.plan.gambits_of_groups import member_away
from harness.plan.gambits_of_registrations import (
    cordoned_broker,
    lowered_feature,
    refused_downgrade,
    unregistered_broker,
    unregistered_controller,
)
from harness.plan.gambits_of_replicas import (
    cancelled_copy,
    eligible_again,
    held_sends,
    late_reports,
    lossy_sends,
    refused_batches,
    stale_elected,
    torn_writes,
    trimmed_log,
    trimmed_while_held,
)
from harness.plan.gambits_of_shares import SHARE_STATES_TOPIC, moved_to_newcomer
from harness.plan.gambits_of_topics import (
    absent_replica,
    copies_power,
    interrupted_cleaning,
    interrupted_truncation,
    kept_leader,
    reassignment,
    switched_configs,
)
from harness.plan.gambits_of_voters import (
    colliding_elections,
    departing_leader,
    lagging_candidate,
    lossy_voters,
    overlapping_changes,
    uncommitted_voters,
    wiped_voter,
)
from harness.vocabulary.administration import (
    ElectionType,
    ElectLeaders,
    broker,
)
from harness.vocabulary.faults import (
    HeldRequests,
    Kill,
    LostAnswers,
    Partition,
    Pattern,
    Pause,
    Stop,
)
from harness.vocabulary.gambits import (
    AllInSync,
    Awaited,
    ChoosePartition,
    ChooseQuorum,
    ChooseSuccessor,
    FaultAt,
    GambitMove,
    HealAll,
    InjectAll,
    InSyncAlone,
    LedBy,
    LedByAnother,
    MemberAway,
    OutOfSync,
    Part,
    Request,
    Until,
    WaitAtMost,
)
from harness.vocabulary.moves import Pass
from harness.vocabulary.topology import Among, Topology

_HELD_BACK_MS = (0, 800)
"""Less than `broker.session.timeout.ms` and `replica.lag.time.max.ms`, so that the replica stays in sync."""
_UNANSWERED_MS = (200, 2_500)
_HELD_MS = (300, 6_000)
"""TCP retransmits after 0.2 s, and doubles this time with each further retransmission."""
_BLINK_MS = (0, 900)
_CONDITION_MS: dict[type[Awaited], int] = {AllInSync: 500, MemberAway: 6_000}
"""How long conditions are about waited for, where that is known; the load decides when a member leaves."""


def _all_copies(source: random.Random, _: Topology) -> Script:
    """All replicas of a partition fail within milliseconds, and return in random order."""
    return ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)), *_down_and_back(source, REPLICAS)


def _all_brokers(source: random.Random, topology: Topology) -> Script:
    """All brokers fail, and return in random order."""
    return tuple(_down_and_back(source, [broker(n) for n in range(1, topology.brokers + 1)]))


def _broker_majority(source: random.Random, topology: Topology) -> Script:
    """More than half of the brokers fail, and return in random order."""
    numbers = source.sample(range(1, topology.brokers + 1), topology.brokers // 2 + 1)
    return tuple(_down_and_back(source, [broker(n) for n in numbers]))


def _down_and_back(source: random.Random, parts: Sequence[Part]) -> Iterator[GambitMove]:
    faults = faults_at([(part, Kill()) for part in shuffled(source, parts)])
    yield InjectAll(faults, source.randint(0, AT_ONCE_MS))
    yield Pass(source.randint(0, 4_000))
    yield HealAll(shuffled(source, [aimed.name for aimed in faults]), source.randint(0, 2_500))
    yield Until(AllInSync(), BACK_MS)


def _held_follower(source: random.Random, _: Topology) -> Script:
    """One follower is delayed too briefly to leave the ISR; then the leader and the others fail."""
    held, others = "follower-1", ("leader", "follower-2")
    hold = source.choice((Pause(), isolated_one(source)))
    taken = source.choice((Kill, Kill, Pause))()
    gone = faults_at([(part, taken) for part in shuffled(source, others)], first=2)
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        InjectAll((FaultAt("f1", held, hold),)),
        Pass(source.randint(*_HELD_BACK_MS)),
        InjectAll(gone, source.randint(0, AT_ONCE_MS)),
        HealAll(("f1",)),
        Until(LedBy(held), SEVERAL_S_MS),
        HealAll(shuffled(source, [aimed.name for aimed in gone]), source.randint(0, 2_000)),
        Until(AllInSync(), BACK_MS),
    )


def _last_in_sync(source: random.Random, _: Topology) -> Script:
    """An ISR shrinks to one replica, which then fails; the others return first, and must not lead."""
    away = source.choice((Stop, Kill, Pause))
    parts = shuffled(source, FOLLOWERS)
    others = faults_at([(part, away()) for part in parts], first=1)
    return (
        ChoosePartition(fresh_draw(source), replicas_min=len(REPLICAS)),
        InjectAll(others, source.choice((0, source.randint(200, 2_000)))),
        Until(InSyncAlone("leader"), SEVERAL_S_MS),
        Pass(source.randint(200, 2_000)),
        InjectAll((FaultAt("f3", "leader", source.choice((Kill, Kill, Stop))()),)),
        HealAll(shuffled(source, [aimed.name for aimed in others]), source.randint(0, 1_500)),
        Pass(source.randint(0, 3_000)),
        HealAll(("f3",)),
        Until(AllInSync(), BACK_MS),
    )


def _isr_and_controller(source: random.Random, _: Topology) -> Script:
    """A follower leaves the ISR; right after that, the leader and the active controller are killed."""
    out = source.choice((Stop(), Pause(), isolated_one(source)))
    gone = faults_at([(part, Kill()) for part in shuffled(source, ("controller", "leader"))], first=2)
    return (
        ChoosePartition(fresh_draw(source)),
        ChooseQuorum(fresh_draw(source)),
        InjectAll((FaultAt("f1", "follower-1", out),)),
        Until(OutOfSync("follower-1"), SEVERAL_S_MS),
        InjectAll(gone, source.randint(0, AT_ONCE_MS)),
        Until(LedByAnother(("leader",)), SEVERAL_S_MS),
        HealAll(shuffled(source, ["f1", *(aimed.name for aimed in gone)]), source.randint(0, 1_500)),
        Until(AllInSync(), BACK_MS),
    )


def _cut_off_leader(source: random.Random, _: Topology) -> Script:
    """Only clients can reach a leader; then it is healed, or killed first."""
    cut = InjectAll((FaultAt("f1", "leader", isolated_one(source)),))
    killed = InjectAll((FaultAt("f2", "leader", Kill()),))
    names = ["f1"]
    moves: list[GambitMove] = [ChoosePartition(fresh_draw(source)), cut]
    if source.random() < 0.7:  # noqa: PLR2004 - a chance
        moves.append(Until(LedByAnother(("leader",)), SEVERAL_S_MS))
    moves.append(Pass(source.randint(100, 2_000)))
    if source.random() < 0.5:  # noqa: PLR2004 - an even chance
        moves.append(killed)
        names.append("f2")
    moves.append(HealAll(shuffled(source, names), source.randint(0, 500)))
    return (*moves, Until(AllInSync(), BACK_MS))


def _lost_answers(source: random.Random, _: Topology) -> Script:
    """A leader's responses to clients are lost; it fails, so that clients retry with another leader."""
    goes = source.choice((Kill(), Kill(), Stop(), isolated_one(source)))
    return (
        ChoosePartition(fresh_draw(source)),
        InjectAll((FaultAt("f1", "leader", LostAnswers()),)),
        Pass(source.randint(*_UNANSWERED_MS)),
        InjectAll((FaultAt("f2", "leader", goes),)),
        Until(LedByAnother(("leader",)), SEVERAL_S_MS),
        Pass(source.randint(0, 1_000)),
        HealAll(shuffled(source, ("f1", "f2")), source.randint(0, 500)),
        Until(AllInSync(), BACK_MS),
    )


def _held_requests(source: random.Random, _: Topology) -> Script:
    """Some clients' requests to a leader or transaction coordinator are delayed and overtaken by others."""
    topic = source.choice(("__transaction_state", "__transaction_state", None))
    return (
        ChoosePartition(fresh_draw(source), topic),
        InjectAll((FaultAt("f1", "leader", HeldRequests(draw=fresh_draw(source))),)),
        Pass(source.randint(*_HELD_MS)),
        HealAll(("f1",)),
        Pass(source.randint(500, 2_500)),
        Until(AllInSync(), BACK_MS),
    )


def _deaf_preferred(source: random.Random, _: Topology) -> Script:
    """A preferred election for a live replica that can't fetch, and that may still be in sync."""
    deaf = Partition(Pattern.ISOLATE_ONE, among=Among.BROKERS, draw=fresh_draw(source))
    waits = source.choice((Pass(source.randint(0, 2_000)), Until(OutOfSync("follower-1"), SEVERAL_S_MS)))
    return (
        ChoosePartition(fresh_draw(source), preferred_follows=True, within_ms=2_000),
        InjectAll((FaultAt("f1", "follower-1", deaf),)),
        waits,
        Request(ElectLeaders(ElectionType.PREFERRED)),
        Pass(source.randint(300, 2_500)),
        HealAll(("f1",)),
        Until(AllInSync(), BACK_MS),
    )


def _coordinator_of(topic: str) -> Callable[[random.Random, Topology], Script]:
    """A coordinator fails, then its successor; a preferred election brings the first one back."""

    def moves(source: random.Random, _: Topology) -> Script:
        takes = source.choice((Kill(), Stop(), Pause(), isolated_one(source)))
        return (
            ChoosePartition(fresh_draw(source), topic),
            InjectAll((FaultAt("f1", "leader", takes),)),
            Until(LedByAnother(("leader",)), SEVERAL_S_MS),
            ChooseSuccessor(),
            Pass(source.randint(0, 1_000)),
            InjectAll((FaultAt("f2", "successor", source.choice((Pause(), isolated_one(source), Kill()))),)),
            HealAll(shuffled(source, ("f1", "f2")), source.randint(0, 1_500)),
            Until(AllInSync(), BACK_MS),
            Request(ElectLeaders(ElectionType.PREFERRED)),
            Pass(source.randint(300, 1_000)),
        )

    return moves


def _rolling_bounce(source: random.Random, topology: Topology) -> Script:
    """Every broker restarts in turn, each as soon as all replicas are in sync."""
    moves: list[GambitMove] = []
    for place, number in enumerate(source.sample(range(1, topology.brokers + 1), topology.brokers), start=1):
        fault = source.choice((Stop, Stop, Stop, Kill))()
        moves += [InjectAll((FaultAt(f"f{place}", broker(number), fault),)), HealAll((f"f{place}",))]
        moves.append(Until(AllInSync(), BACK_MS))
    return tuple(moves)


def _flapping(source: random.Random, _: Topology) -> Script:
    """Short faults of links or processes in a row, at the nodes that a partition depends on."""
    parts = source.choices(("leader", "leader", "follower-1", "controller"), k=source.randint(4, 6))
    moves: list[GambitMove] = [ChoosePartition(fresh_draw(source)), ChooseQuorum(fresh_draw(source))]
    for number, part in enumerate(parts, start=1):
        fault = source.choice((Pause(), isolated_one(source), isolated_one(source)))
        moves.append(InjectAll((FaultAt(f"f{number}", part, fault),)))
        moves.append(Pass(source.randint(*_BLINK_MS)))
        moves.append(HealAll((f"f{number}",)))
    return (*moves, Until(AllInSync(), BACK_MS))


GAMBITS: dict[str, Recipe] = {
    "all-copies": Recipe(_all_copies),
    "all-brokers": Recipe(_all_brokers, brokers=1),
    "broker-majority": Recipe(_broker_majority, brokers=1),
    "held-follower": Recipe(_held_follower, isolated=True),
    "last-in-sync": Recipe(_last_in_sync, isolated=True),
    "isr-and-controller": Recipe(_isr_and_controller, isolated=True),
    "cut-off-leader": Recipe(_cut_off_leader, brokers=2),
    "lost-answers": Recipe(_lost_answers, brokers=2),
    "deaf-preferred": Recipe(_deaf_preferred, isolated=True),
    "group-coordinator": Recipe(_coordinator_of("__consumer_offsets"), brokers=2),
    "transaction-coordinator": Recipe(_coordinator_of("__transaction_state"), brokers=2),
    "share-coordinator": Recipe(_coordinator_of(SHARE_STATES_TOPIC), brokers=2),
    "moved-share-coordinator": Recipe(moved_to_newcomer(SHARE_STATES_TOPIC), brokers=4, isolated=True),
    "moved-leader": Recipe(moved_to_newcomer(None), brokers=4, isolated=True),
    "rolling-bounce": Recipe(_rolling_bounce, brokers=2),
    "cut-off-controller": Recipe(cut_off_controller, brokers=1, isolated=True, controllers=3),
    "flapping": Recipe(_flapping),
    "colliding-elections": Recipe(colliding_elections, brokers=1, isolated=True),
    "voters-power": Recipe(voters_power, brokers=1, isolated=True, disks=True),
    "copies-power": Recipe(copies_power, isolated=True, disks=True),
    "reassignment": Recipe(reassignment, brokers=4, isolated=True),
    "switched-configs": Recipe(switched_configs, isolated=True),
    "absent-replica": Recipe(absent_replica, isolated=True),
    "interrupted-truncation": Recipe(interrupted_truncation, isolated=True),
    "interrupted-cleaning": Recipe(interrupted_cleaning),
    "held-requests": Recipe(_held_requests, brokers=2),
    "cancelled-copy": Recipe(cancelled_copy, brokers=4, isolated=True),
    "stale-elected": Recipe(stale_elected, isolated=True),
    "eligible-again": Recipe(eligible_again, isolated=True),
    "trimmed-log": Recipe(trimmed_log),
    "held-sends": Recipe(held_sends, isolated=True),
    "refused-batches": Recipe(refused_batches, isolated=True),
    "torn-writes": Recipe(torn_writes),
    "late-reports": Recipe(late_reports, isolated=True),
    "departing-leader": Recipe(departing_leader, brokers=1, isolated=True, voters=3),
    "overlapping-changes": Recipe(overlapping_changes, brokers=1, isolated=True, voters=3),
    "uncommitted-voters": Recipe(uncommitted_voters, brokers=1, isolated=True, voters=3),
    "lossy-voters": Recipe(lossy_voters, brokers=1, isolated=True),
    "lossy-sends": Recipe(lossy_sends, isolated=True),
    "wiped-voter": Recipe(wiped_voter, brokers=1, isolated=True, voters=3),
    "lagging-candidate": Recipe(lagging_candidate, brokers=1, isolated=True),
    "trimmed-while-held": Recipe(trimmed_while_held, isolated=True),
    "held-shrink": Recipe(held_shrink, isolated=True),
    "unfinished-change": Recipe(unfinished_change, brokers=1, isolated=True, voters=3),
    "lone-epochs": Recipe(lone_epochs, isolated=True),
    "alternating-leaders": Recipe(alternating_leaders, isolated=True),
    "kept-leader": Recipe(kept_leader, brokers=4, isolated=True),
    "deaf-voter": Recipe(deaf_voter, brokers=1, isolated=True, controllers=3),
    "uncommitted-changes": Recipe(uncommitted_changes, brokers=2, isolated=True, controllers=3),
    "unregistered-broker": Recipe(unregistered_broker, isolated=True, controllers=3),
    "unregistered-controller": Recipe(unregistered_controller, brokers=1, isolated=True, controllers=3),
    "cordoned-broker": Recipe(cordoned_broker, isolated=True, controllers=3),
    "lowered-feature": Recipe(lowered_feature, brokers=1, isolated=True, controllers=3),
    "member-away": Recipe(member_away),
    "refused-downgrade": Recipe(refused_downgrade, brokers=1, isolated=True, controllers=3),
}
"""Gambits by their names in `RandomSchedule.gambits`."""


def drawn_gambit(kind: str, topology: Topology, source: random.Random) -> tuple[Script, int]:
    """The moves of a gambit, and their approximate duration, ms."""
    moves = GAMBITS[kind].moves(source, topology)
    return moves, sum(map(_about_ms, moves))


def _about_ms(move: GambitMove) -> int:
    """The duration of a move on two idle cores, where a restarted broker answers after 2 to 3 s.

    If a move takes longer, later ones are delayed, and none begins after the end of the schedule.
    """
    match move:
        case Pass(ms):
            return ms
        case InjectAll(faults, apart_ms):
            return 300 + apart_ms * (len(faults) - 1)
        case HealAll(names, apart_ms):
            return 1_500 + apart_ms * (len(names) - 1)
        case Until(condition) | WaitAtMost(condition):
            return _CONDITION_MS.get(type(condition), 1_500)
        case _:
            return 100
