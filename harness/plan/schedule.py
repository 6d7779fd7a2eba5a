"""Makes a schedule from a seed: the same seed gives the same steps, byte for byte."""

import random

import msgspec

from harness.plan.blinks import drawn_blinks
from harness.plan.random_schedules import (
    DRAWS,
    drawn_acts,
    drawn_mix,
    drawn_steps,
    symbolic,
    with_disks,
    with_losses,
)
from harness.plan.rolling import drawn_roll
from harness.vocabulary.administration import (
    BROKER_CONFIGS,
    BROKER_DEFAULTS,
    AdminOperation,
    AlterBroker,
    AlterBrokers,
    Moving,
    UpdateFeature,
)
from harness.vocabulary.faults import Fault
from harness.vocabulary.former import in_current_words
from harness.vocabulary.gambits import Gambit, InjectAll, ReassignChosen, Request, RequestForChosen
from harness.vocabulary.moves import Heal, Inject, Move, Perform, ScriptedSchedule
from harness.vocabulary.scenario import FixedSchedule, RandomSchedule, RollingSchedule, Step, TimedOperation
from harness.vocabulary.topology import Topology

Planned = FixedSchedule | ScriptedSchedule
"""A schedule that a run can carry out."""


def plan(
    schedule: FixedSchedule | RandomSchedule | RollingSchedule | ScriptedSchedule,
    topology: Topology,
    seed: int,
) -> Planned:
    """The schedule that a run carries out.

    A fixed or scripted schedule keeps its order and takes its draws from the seed.  A random or rolling one
    is drawn completely.
    """
    source = random.Random(seed)
    if isinstance(schedule, RollingSchedule):
        return drawn_roll(schedule, topology, source)
    if isinstance(schedule, ScriptedSchedule):
        moves = tuple(_moved(move, source) for move in schedule.moves)
        return ScriptedSchedule(moves=moves, duration_ms=schedule.duration_ms)
    if isinstance(schedule, FixedSchedule):
        steps = tuple(
            msgspec.structs.replace(step, fault=_redrawn(step.fault, source)) for step in schedule.steps
        )
        acts = tuple(
            msgspec.structs.replace(act, operation=symbolic(act.operation, source)) for act in schedule.acts
        )
        return msgspec.structs.replace(schedule, steps=steps, acts=acts)
    gambits: tuple[Gambit, ...] = ()
    if schedule.gambits:
        mixed, played = drawn_mix(schedule, topology, source)
        steps, gambits = tuple(mixed), tuple(played)
    else:
        steps = tuple(drawn_steps(schedule, topology, source))
    # Random sources are separate: a schedule to which operations are added keeps its faults, and one to which
    # faults of disks are added keeps its times.
    if schedule.loss_share:
        steps = tuple(with_losses(steps, schedule, topology, random.Random(f"{seed} losses")))
    if schedule.disks:
        steps = tuple(with_disks(steps, schedule, topology, random.Random(f"{seed} disks")))
    return FixedSchedule(
        steps=steps,
        duration_ms=schedule.duration_ms,
        acts=_acts(schedule, seed),
        gambits=gambits,
        blinks=tuple(drawn_blinks(schedule, topology, random.Random(f"{seed} blinks"))),
    )


def encode(schedule: Planned) -> bytes:
    """The bytes of ``schedule.json``; without blinks they have no field for them."""
    value = msgspec.to_builtins(schedule)
    if not blinks_of(schedule):
        value.pop("blinks", None)
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def decode(data: bytes) -> Planned:
    """The inverse of `encode`; also reads the former names of moves.

    Raises:
        msgspec.DecodeError: if the bytes are not JSON, or not a schedule.
    """
    return schedule_from(msgspec.json.decode(data))


def schedule_from(document: object) -> Planned:
    """A schedule from decoded JSON; also reads the former names of moves.

    Raises:
        msgspec.ValidationError: if it is not a schedule.
    """
    schedule: Planned = msgspec.convert(in_current_words(document), Planned)
    return schedule


def faults_of(schedule: Planned) -> tuple[Fault, ...]:
    """All faults in order: first separate ones, then those of gambits, then blinks."""
    if isinstance(schedule, FixedSchedule):
        blinks = (blink.fault for _, blink in blinks_of(schedule))
        return (*faults_alone(schedule), *faults_of_gambits(schedule), *blinks)
    return faults_alone(schedule)


def faults_alone(schedule: Planned) -> tuple[Fault, ...]:
    """All faults in order, without those of gambits and blinks."""
    if isinstance(schedule, FixedSchedule):
        return tuple(step.fault for step in schedule.steps)
    return tuple(move.fault for move in schedule.moves if isinstance(move, Inject))


def faults_of_gambits(schedule: Planned) -> tuple[Fault, ...]:
    """All faults of gambits; one is injected only if its gambit gets that far."""
    moves = (move for gambit in gambits_of(schedule) for move in gambit.moves)
    return tuple(aimed.fault for move in moves if isinstance(move, InjectAll) for aimed in move.faults)


def gambits_of(schedule: Planned) -> tuple[Gambit, ...]:
    """All gambits, in order."""
    return schedule.gambits if isinstance(schedule, FixedSchedule) else ()


def blinks_of(schedule: Planned) -> list[tuple[str, Step]]:
    """All blinks, sorted by time, with their names in the history: blink1 …."""
    blinks = schedule.blinks if isinstance(schedule, FixedSchedule) else ()
    ordered = sorted(blinks, key=lambda blink: blink.at_ms)
    return [(f"blink{number}", blink) for number, blink in enumerate(ordered, start=1)]


def operations_of(schedule: Planned) -> tuple[AdminOperation, ...]:
    """All admin operations, in order."""
    if isinstance(schedule, FixedSchedule):
        moves = (move for gambit in schedule.gambits for move in gambit.moves)
        asked = (move.operation for move in moves if isinstance(move, Request))
        return (*(act.operation for act in schedule.acts), *asked)
    return tuple(move.operation for move in schedule.moves if isinstance(move, Perform))


def moves_replicas(schedule: Planned) -> bool:
    """Whether the schedule begins or ends reassignments."""
    there = (
        move for gambit in gambits_of(schedule) for move in gambit.moves if isinstance(move, RequestForChosen)
    )
    return any(isinstance(one, Moving) for one in operations_of(schedule)) or any(
        isinstance(move.what, ReassignChosen) for move in there
    )


def changes_features(schedule: Planned) -> bool:
    """Whether the schedule changes feature levels."""
    return any(isinstance(one, UpdateFeature) for one in operations_of(schedule))


def agenda(schedule: FixedSchedule) -> list[tuple[str, Step | Gambit]]:
    """Steps and gambits, sorted by time, with their names in the history: f1 …, g1 …."""
    steps = enumerate(sorted(schedule.steps, key=lambda step: step.at_ms), start=1)
    gambits = enumerate(sorted(schedule.gambits, key=lambda gambit: gambit.at_ms), start=1)
    named: list[tuple[str, Step | Gambit]] = [(f"f{number}", step) for number, step in steps]
    named += [(f"g{number}", gambit) for number, gambit in gambits]
    return sorted(named, key=lambda one: one[1].at_ms)


def planned_ms(schedule: Planned) -> dict[str, int]:
    """How long each fault is planned to last, by its name in the history; milliseconds.

    The end of a fault of a gambit or of a script depends on what happens, so these are not included.
    """
    if not isinstance(schedule, FixedSchedule):
        return {}
    steps = [(name, one) for name, one in agenda(schedule) if isinstance(one, Step)]
    return {name: step.hold_ms for name, step in (*steps, *blinks_of(schedule))}


def problems_of(schedule: Planned) -> list[str]:
    """All errors in the names of a script's faults and in configs of brokers; empty if there are none.

    A name identifies a fault in the history, so no name may be used twice.  A heal must name a fault that is
    in force.  `AlterBrokers` may only set configs of `BROKER_DEFAULTS`, `AlterBroker` those of
    `BROKER_CONFIGS`.
    """
    begun: set[str] = set()
    ended: set[str] = set()
    found = _unknown_defaults(schedule) + _unknown_configs(schedule)
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


def _unknown_defaults(schedule: Planned) -> list[str]:
    return [
        f"the schedule sets the default of {operation.config} for all brokers, which the checkers do not "
        f"follow; they follow {', '.join(BROKER_DEFAULTS)}"
        for operation in operations_of(schedule)
        if isinstance(operation, AlterBrokers) and operation.config not in BROKER_DEFAULTS
    ]


def _unknown_configs(schedule: Planned) -> list[str]:
    return [
        f"the schedule sets {operation.config} of one broker, which the checkers do not follow; they follow "
        f"{', '.join(BROKER_CONFIGS)}"
        for operation in operations_of(schedule)
        if isinstance(operation, AlterBroker) and operation.config not in BROKER_CONFIGS
    ]


def _acts(schedule: RandomSchedule, seed: int) -> tuple[TimedOperation, ...]:
    """Admin operations, sorted by time; `changes` do not affect the draws of `operations`."""
    drawn = (
        ("operations", schedule.operations, schedule.operation_gap_ms),
        ("changes", schedule.changes, schedule.change_gap_ms),
    )
    acts = [
        act
        for name, weights, gap_ms in drawn
        for act in drawn_acts(weights, gap_ms, schedule.duration_ms, random.Random(f"{seed} {name}"))
    ]
    return tuple(sorted(acts, key=lambda act: act.at_ms))


def _redrawn(fault: Fault, source: random.Random) -> Fault:
    return msgspec.structs.replace(fault, draw=source.randrange(DRAWS))


def _moved(move: Move, source: random.Random) -> Move:
    match move:
        case Inject():
            return msgspec.structs.replace(move, fault=_redrawn(move.fault, source))
        case Perform():
            return msgspec.structs.replace(move, operation=symbolic(move.operation, source))
        case _:
            return move
