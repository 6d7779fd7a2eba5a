"""From a seed to a schedule: the same seed gives the same steps, byte for byte."""

import random
from collections.abc import Iterator

import msgspec

from harness.vocabulary.administration import (
    AdminOperation,
    CancelSome,
    ChangeVoters,
    Drawn,
    ElectionType,
    ElectSome,
    ReassignSome,
)
from harness.vocabulary.faults import Among, Fault, Flavour, Kill, Partition, Pattern, Pause, Stop, Target
from harness.vocabulary.moves import Heal, Inject, Move, Perform, ScriptedSchedule
from harness.vocabulary.scenario import Act, FixedSchedule, RandomSchedule, Step
from harness.vocabulary.topology import Mode, Topology

TAIL_MS = 6_000
"""Load after the last heal, so that there is traffic to judge on both sides of every fault."""
LEAD_MS = 3_000
"""Load before the first fault."""
_DRAWS = 1 << 16
_TARGETS = (Target.ACTIVE_CONTROLLER, Target.VOTER, Target.PARTITION_LEADER, Target.RANDOM)
"""Those that schedules are drawn from; another one among them would change the schedule of every seed."""
_KINDS: dict[str, type[Kill | Pause | Stop]] = {"kill": Kill, "pause": Pause, "stop": Stop}
OPERATIONS: dict[str, Drawn] = {
    "elect-preferred": ElectSome(ElectionType.PREFERRED),
    "elect-unclean": ElectSome(ElectionType.UNCLEAN),
    "reassign": ReassignSome(),
    "cancel": CancelSome(),
    "voters": ChangeVoters(),
}
"""Kinds of admin operations that a random schedule draws from, by their names there."""

Planned = FixedSchedule | ScriptedSchedule
"""What a run executes."""


def plan(
    schedule: FixedSchedule | RandomSchedule | ScriptedSchedule, topology: Topology, seed: int
) -> Planned:
    """What a run executes.

    A fixed or scripted schedule keeps its order and takes its draws from the seed; a random one is drawn
    whole.
    """
    source = random.Random(seed)
    if isinstance(schedule, ScriptedSchedule):
        moves = tuple(_moved(move, source) for move in schedule.moves)
        return ScriptedSchedule(moves=moves, duration_ms=schedule.duration_ms)
    if isinstance(schedule, FixedSchedule):
        steps = tuple(
            msgspec.structs.replace(step, fault=_redrawn(step.fault, source)) for step in schedule.steps
        )
        acts = tuple(
            msgspec.structs.replace(act, operation=_symbolic(act.operation, source)) for act in schedule.acts
        )
        return FixedSchedule(steps=steps, duration_ms=schedule.duration_ms, acts=acts)
    steps = tuple(_drawn(schedule, topology, source))
    # A source of their own: a schedule that gains operations keeps its faults.
    acts = tuple(_drawn_acts(schedule, random.Random(f"{seed} operations")))
    return FixedSchedule(steps=steps, duration_ms=schedule.duration_ms, acts=acts)


def encode(schedule: Planned) -> bytes:
    """The bytes of ``schedule.json``."""
    return msgspec.json.format(msgspec.json.encode(schedule), indent=2) + b"\n"


def decode(data: bytes) -> Planned:
    """The inverse of `encode`.

    Raises:
        msgspec.ValidationError: if the bytes are not a schedule.
    """
    schedule: Planned = msgspec.json.decode(data, type=Planned)
    return schedule


def faults_of(schedule: Planned) -> tuple[Fault, ...]:
    """Every fault that is to be injected, in order."""
    if isinstance(schedule, FixedSchedule):
        return tuple(step.fault for step in schedule.steps)
    return tuple(move.fault for move in schedule.moves if isinstance(move, Inject))


def operations_of(schedule: Planned) -> tuple[AdminOperation, ...]:
    """Every admin operation that is to be performed, in order."""
    if isinstance(schedule, FixedSchedule):
        return tuple(act.operation for act in schedule.acts)
    return tuple(move.operation for move in schedule.moves if isinstance(move, Perform))


def problems_of(schedule: Planned) -> list[str]:
    """What is wrong with the names of a script's faults, all at once; empty if nothing is.

    A name is a fault's identity in the history, so none is used twice, and a heal ends what is in force.
    """
    begun: set[str] = set()
    ended: set[str] = set()
    found: list[str] = []
    for place, move in enumerate(schedule.moves if isinstance(schedule, ScriptedSchedule) else (), start=1):
        match move:
            case Inject(name=name):
                if name in begun:
                    found.append(f"move {place} injects {name!r}, a name that another fault has already")
                begun.add(name)
            case Heal(name=name):
                if name not in begun:
                    found.append(f"move {place} heals {name!r}, which no move before it injects")
                elif name in ended:
                    found.append(f"move {place} heals {name!r}, which is healed already")
                ended.add(name)
            case _:
                pass
    return found


def _redrawn(fault: Fault, source: random.Random) -> Fault:
    return msgspec.structs.replace(fault, draw=source.randrange(_DRAWS))


def _symbolic(operation: AdminOperation, source: random.Random) -> AdminOperation:
    if isinstance(operation, Drawn):
        return msgspec.structs.replace(operation, draw=source.randrange(_DRAWS))
    return operation


def _moved(move: Move, source: random.Random) -> Move:
    match move:
        case Inject():
            return msgspec.structs.replace(move, fault=_redrawn(move.fault, source))
        case Perform():
            return msgspec.structs.replace(move, operation=_symbolic(move.operation, source))
        case _:
            return move


def _drawn_acts(schedule: RandomSchedule, source: random.Random) -> Iterator[Act]:
    if not schedule.operations:
        return
    at = LEAD_MS
    while (at := at + source.randint(*schedule.operation_gap_ms)) < schedule.duration_ms - TAIL_MS:
        (kind,) = source.choices(list(schedule.operations), list(schedule.operations.values()))
        yield Act(at, _symbolic(OPERATIONS[kind], source))


def _drawn(schedule: RandomSchedule, topology: Topology, source: random.Random) -> list[Step]:
    steps: list[Step] = []
    at = LEAD_MS
    while True:
        hold = source.randint(*schedule.hold_ms)
        # Overlapping steps share their end, so that the cluster gets its pause between them.
        lag = source.randint(0, 2_000) if source.random() < schedule.overlap else None
        second = [] if lag is None else [Step(at + lag, hold, _drawn_fault(schedule, topology, source))]
        first = Step(at, hold, _drawn_fault(schedule, topology, source))
        end = at + hold + (lag or 0)
        if end + TAIL_MS > schedule.duration_ms:
            return steps
        steps += [first, *second]
        at = end + source.randint(*schedule.gap_ms)


def _drawn_fault(schedule: RandomSchedule, topology: Topology, source: random.Random) -> Fault:
    kind = source.choice(schedule.kinds)
    draw = source.randrange(_DRAWS)
    target = source.choice(_TARGETS)
    if kind != "partition":
        return _KINDS[kind](target=target, draw=draw)
    pattern = source.choice(list(Pattern))
    flavour = source.choice(list(Flavour))
    among = source.choice(list(Among)) if topology.mode is Mode.ISOLATED else Among.ALL
    return Partition(pattern=pattern, target=target, flavour=flavour, among=among, draw=draw)
