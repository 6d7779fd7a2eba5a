"""From a seed to a schedule: the same seed gives the same steps, byte for byte."""

import random

import msgspec

from harness.vocabulary.faults import Among, Fault, Flavour, Kill, Partition, Pattern, Pause, Stop, Target
from harness.vocabulary.scenario import FixedSchedule, RandomSchedule, Step
from harness.vocabulary.topology import Mode, Topology

TAIL_MS = 6_000
"""Load after the last heal, so that there is traffic to judge on both sides of every fault."""
LEAD_MS = 3_000
"""Load before the first fault."""
_DRAWS = 1 << 16
_KINDS: dict[str, type[Kill | Pause | Stop]] = {"kill": Kill, "pause": Pause, "stop": Stop}


def plan(schedule: FixedSchedule | RandomSchedule, topology: Topology, seed: int) -> FixedSchedule:
    """The steps that a run executes.

    A fixed schedule keeps its steps and takes its draws from the seed; a random one is drawn whole.
    """
    source = random.Random(seed)
    if isinstance(schedule, FixedSchedule):
        steps = tuple(
            msgspec.structs.replace(step, fault=_redrawn(step.fault, source)) for step in schedule.steps
        )
        return FixedSchedule(steps=steps, duration_ms=schedule.duration_ms)
    return FixedSchedule(steps=tuple(_drawn(schedule, topology, source)), duration_ms=schedule.duration_ms)


def encode(schedule: FixedSchedule) -> bytes:
    """The bytes of ``schedule.json``."""
    return msgspec.json.format(msgspec.json.encode(schedule), indent=2) + b"\n"


def decode(data: bytes) -> FixedSchedule:
    """The inverse of `encode`.

    Raises:
        msgspec.ValidationError: if the bytes are not a schedule.
    """
    return msgspec.json.decode(data, type=FixedSchedule)


def _redrawn(fault: Fault, source: random.Random) -> Fault:
    return msgspec.structs.replace(fault, draw=source.randrange(_DRAWS))


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
    target = source.choice(list(Target))
    if kind != "partition":
        return _KINDS[kind](target=target, draw=draw)
    pattern = source.choice(list(Pattern))
    flavour = source.choice(list(Flavour))
    among = source.choice(list(Among)) if topology.mode is Mode.ISOLATED else Among.ALL
    return Partition(pattern=pattern, target=target, flavour=flavour, among=among, draw=draw)
