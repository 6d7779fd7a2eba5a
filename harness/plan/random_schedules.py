"""The random choices of a schedule: faults, faults of disks, and admin operations; pure."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import get_args

import msgspec

from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.vocabulary.administration import (
    AddSome,
    AdminOperation,
    AlterSome,
    CancelSome,
    ChangeVoters,
    Drawn,
    ElectionType,
    ElectSome,
    Member,
    ReassignSome,
    controller,
)
from harness.vocabulary.faults import (
    DeadDisk,
    Fault,
    Flavour,
    LossPattern,
    OfDisk,
    PacketLoss,
    Partition,
    Pattern,
    PowerLoss,
    Target,
    WipeDisk,
)
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.injected import kind_of
from harness.vocabulary.scenario import Majority, RandomSchedule, Step, TimedOperation
from harness.vocabulary.topology import Among, Mode, Role, Topology

TAIL_MS = 6_000
"""Load after the last heal, so that there is traffic to judge before and after every fault."""
LEAD_MS = 3_000
"""Load before the first fault."""
DRAWS = 1 << 16
"""How many values a draw may have."""
_LAG_MS = 2_000
_TARGETS = (Target.ACTIVE_CONTROLLER, Target.VOTER, Target.PARTITION_LEADER, Target.RANDOM)
"""Targets that schedules are drawn from; an additional target would change the schedule of every seed."""
_AMONG = (Among.ALL, Among.CONTROLLERS)
"""Sets of nodes that partitions are drawn from; an additional set would change every schedule, too."""
_PATTERNS = tuple(pattern for pattern in Pattern if not pattern.of_link)
"""Patterns that partitions are drawn from; an additional pattern would change every schedule, too."""
_KINDS: dict[str, Callable[..., Fault]] = {kind_of(word): word for word in get_args(Fault) if word.drawn}
PARTITION, PACKET_LOSS = kind_of(Partition), kind_of(PacketLoss)
KINDS = (PARTITION, *_KINDS, PACKET_LOSS)
"""Kinds of faults, without those of disks, by their names in `RandomSchedule.kinds`."""
_LOST_PERCENT = (10, 70)
DISKS: dict[str, OfDisk] = {
    "broker-disk": WipeDisk(Target.BROKER, sparing=True),
    "follower-disk": WipeDisk(Target.QUORUM_FOLLOWER, sparing=True),
    "leader-disk": WipeDisk(Target.ACTIVE_CONTROLLER, sparing=True),
    "one-directory": WipeDisk(Target.BROKER, log_dir=2, sparing=True),
    "power": PowerLoss(sparing=True),
    "dead-directory": DeadDisk(Target.BROKER, log_dir=2, sparing=True),
}
"""Kinds of faults of disks by their names in `RandomSchedule.disks`."""
OPERATIONS: dict[str, Drawn] = {
    "elect-preferred": ElectSome(ElectionType.PREFERRED),
    "elect-unclean": ElectSome(ElectionType.UNCLEAN),
    "reassign": ReassignSome(),
    "cancel": CancelSome(),
    "voters": ChangeVoters(),
    "alter": AlterSome(),
    "add-partitions": AddSome(),
}
"""Kinds of admin operations by their names in `RandomSchedule.operations`."""


def drawn_steps(schedule: RandomSchedule, topology: Topology, source: random.Random) -> list[Step]:
    """Faults in sequence, some of them overlapping, until the end of the schedule."""
    steps: list[Step] = []
    at = LEAD_MS
    while True:
        drawn, end = _faults_at(at, schedule, topology, source)
        if end + TAIL_MS > schedule.duration_ms:
            return steps
        steps += drawn
        at = end + source.randint(*schedule.gap_ms)


def drawn_mix(
    schedule: RandomSchedule, topology: Topology, source: random.Random
) -> tuple[list[Step], list[Gambit]]:
    """Single faults and gambits that fit the topology, in sequence, until the end of the schedule."""
    steps: list[Step] = []
    gambits: list[Gambit] = []
    weights = {name: weight for name, weight in schedule.gambits.items() if GAMBITS[name].fits(topology)}
    at = LEAD_MS
    while True:
        faults: list[Step] = []
        played: list[Gambit] = []
        if weights and source.random() < schedule.gambit_share:
            (kind,) = source.choices(list(weights), list(weights.values()))
            moves, lasts_ms = drawn_gambit(kind, topology, source)
            played, end = [Gambit(at, kind, moves, lasts_ms)], at + lasts_ms
        else:
            faults, end = _faults_at(at, schedule, topology, source)
        if end + TAIL_MS > schedule.duration_ms:
            return steps, gambits
        steps += faults
        gambits += played
        at = end + source.randint(*schedule.gap_ms)


def _faults_at(
    at: int, schedule: RandomSchedule, topology: Topology, source: random.Random
) -> tuple[list[Step], int]:
    """One or more faults from a given time on, and their common end, ms after the load began."""
    hold = source.randint(*schedule.hold_ms)
    # Overlapping steps end together, so that the cluster has a pause before the next steps.
    if schedule.majority is Majority.LOST:
        drawn = list(_without_majority(schedule, topology, source))
    else:
        drawn = list(_by_chance(schedule, topology, source))
    end = at + hold + max(lag for lag, _ in drawn)
    return [Step(at + lag, hold, fault) for lag, fault in drawn], end


def with_losses(
    steps: Iterable[Step], schedule: RandomSchedule, topology: Topology, source: random.Random
) -> Iterator[Step]:
    """Replace a share of the steps by packet losses, with the chance that the schedule defines."""
    for step in steps:
        if source.random() < schedule.loss_share:
            yield msgspec.structs.replace(step, fault=_loss(source.choice(_TARGETS), topology, source))
        else:
            yield step


def with_disks(
    steps: Iterable[Step], schedule: RandomSchedule, topology: Topology, source: random.Random
) -> Iterator[Step]:
    """Replace a share of the steps by faults of disks, of the kinds that the topology can have."""
    weights = {
        name: weight
        for name, weight in schedule.disks.items()
        if DISKS[name].unavailable_because(topology) is None
    }
    for step in steps:
        if weights and source.random() < schedule.disk_share:
            (name,) = source.choices(list(weights), list(weights.values()))
            yield _struck(step, _disk_fault(DISKS[name], topology, source), schedule)
        else:
            yield step


def _struck(step: Step, fault: OfDisk, schedule: RandomSchedule) -> Step:
    """A step whose fault is replaced by a fault of a disk.

    A dead disk also lasts through the pause after it.  The leaders on it are judged only by the time in which
    no other fault is in force, and blinks shorten this time.
    """
    held = msgspec.structs.replace(step, fault=fault)
    if not isinstance(fault, DeadDisk):
        return held
    last_ms = schedule.duration_ms - TAIL_MS - step.at_ms
    return msgspec.structs.replace(held, hold_ms=min(step.hold_ms + schedule.gap_ms[0], last_ms))


def drawn_acts(
    weights: Mapping[str, int], gap_ms: tuple[int, int], duration_ms: int, source: random.Random
) -> Iterator[TimedOperation]:
    """Admin operations in sequence; none if there are no weights."""
    if not weights:
        return
    at = LEAD_MS
    while (at := at + source.randint(*gap_ms)) < duration_ms - TAIL_MS:
        (kind,) = source.choices(list(weights), list(weights.values()))
        yield TimedOperation(at, symbolic(OPERATIONS[kind], source))


def least_operations(schedule: RandomSchedule, acts: Iterable[TimedOperation]) -> dict[str, int]:
    """How many admin operations of each kind must be answered, at most a third of those that were drawn.

    The number of drawn operations is random.  A correct Kafka may answer only some of them: a request may be
    sent while there is no controller, and some operations find nothing to request.
    """
    asked = [act.operation for act in acts]
    kinds = Counter(
        name
        for operation in asked
        for name, drawn in OPERATIONS.items()
        if isinstance(operation, Drawn) and msgspec.structs.replace(operation, draw=drawn.draw) == drawn
    )
    least = {kind: min(number, round(kinds[kind] / 3)) for kind, number in schedule.operations_min.items()}
    return {kind: number for kind, number in least.items() if number}


def symbolic(operation: AdminOperation, source: random.Random) -> AdminOperation:
    """The operation with a new draw, if it has a draw."""
    if isinstance(operation, Drawn):
        return msgspec.structs.replace(operation, draw=source.randrange(DRAWS))
    return operation


def _by_chance(
    schedule: RandomSchedule, topology: Topology, source: random.Random
) -> Iterator[tuple[int, Fault]]:
    """One fault, or two faults of which the second begins up to two seconds later."""
    lag = source.randint(0, _LAG_MS) if source.random() < schedule.overlap else None
    second = [] if lag is None else [(lag, drawn_fault(schedule.kinds, topology, source))]
    yield 0, drawn_fault(schedule.kinds, topology, source)
    yield from second


def _without_majority(
    schedule: RandomSchedule, topology: Topology, source: random.Random
) -> Iterator[tuple[int, Fault]]:
    """Faults at so many different voters that no majority is left."""
    voters = len(topology.voters())
    for place in source.sample(range(1, voters + 1), voters // 2 + 1):
        yield 0, fault_at(controller(place), schedule.kinds, topology, source)


def drawn_fault(kinds: Sequence[str], topology: Topology, source: random.Random) -> Fault:
    """A random fault of the given kinds, named as in `RandomSchedule.kinds`, at a random target."""
    kind = source.choice(kinds)
    draw = source.randrange(DRAWS)
    target = source.choice(_TARGETS)
    if kind == PACKET_LOSS:
        return _loss(target, topology, source)
    if kind != PARTITION:
        return _KINDS[kind](target=target, draw=draw)
    pattern = source.choice(_PATTERNS)
    flavour = source.choice(list(Flavour))
    among = source.choice(_AMONG) if topology.mode is Mode.ISOLATED else Among.ALL
    return Partition(pattern=pattern, target=target, flavour=flavour, among=among, draw=draw)


def _loss(target: Target, topology: Topology, source: random.Random) -> PacketLoss:
    """A random loss of packets that is possible in the topology."""
    pattern = source.choice(list(LossPattern))
    among = source.choice(list(Among)) if topology.mode is Mode.ISOLATED else Among.ALL
    loss = PacketLoss(pattern, target, among, source.randint(*_LOST_PERCENT), source.randrange(DRAWS))
    if loss.unavailable_because(topology):
        return msgspec.structs.replace(loss, among=Among.ALL)
    return loss


def fault_at(member: Member, kinds: Sequence[str], topology: Topology, source: random.Random) -> Fault:
    """A fault after which a node can't reach the others with its role, whatever faults those have."""
    kind = source.choice(kinds)
    draw = source.randrange(DRAWS)
    if kind != PARTITION:
        return _KINDS[kind](target=member, draw=draw)
    flavour = source.choice(list(Flavour))
    apart = topology.mode is Mode.ISOLATED and member.role is Role.CONTROLLER
    among = source.choice(_AMONG) if apart else Among.ALL
    return Partition(Pattern.ISOLATE_ONE, member, flavour, among, draw)


def _disk_fault(fault: OfDisk, topology: Topology, source: random.Random) -> OfDisk:
    drawn = msgspec.structs.replace(fault, draw=source.randrange(DRAWS))
    if isinstance(drawn, PowerLoss):
        return drawn
    log_dir = None if drawn.log_dir is None else source.randint(1, topology.log_dirs)
    if isinstance(drawn, DeadDisk):
        return msgspec.structs.replace(drawn, log_dir=log_dir)
    return msgspec.structs.replace(drawn, by=source.choice(("kill", "stop")), log_dir=log_dir)
