"""Faults of a rolling upgrade that hit while a node is away, or right after its start; drawn from a seed."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from harness.plan.gambit_pieces import even
from harness.plan.random_schedules import DRAWS, fault_at
from harness.vocabulary.administration import Member, broker, controller
from harness.vocabulary.faults import PowerLoss
from harness.vocabulary.moves import Heal, Inject, Move, Pass
from harness.vocabulary.scenario import RollingSchedule
from harness.vocabulary.topology import Mode, Role, Topology


class DrawnRoll(NamedTuple):
    """What is drawn, for which topology, and from which source."""

    schedule: RollingSchedule
    topology: Topology
    source: random.Random


def while_away(member: Member, name: str, drawn: DrawnRoll) -> Iterator[Move]:
    """Start a node that has its other version, after or during faults of other nodes.

    With the same probability the quorum keeps its majority, or the faults and the node together take it away.
    If no other node can fail without that, it is always taken away.  The node starts after these faults, or
    while they are in force.

    Args:
        member: the node, which is down.
        name: of the fault by which it is down; the moves heal it.
        drawn: the roll.
    """
    schedule, topology, source = drawn
    if not schedule.away_chance or source.random() >= schedule.away_chance:
        yield Heal(name)
        return
    lost, kept = _taking_majority(member, topology, source), _keeping_majority(member, topology, source)
    hit = [kept] if kept is not None and even(source) else lost
    names = [f"during-{name}-{number}" for number in range(1, len(hit) + 1)]
    for fault, each in zip(names, hit, strict=True):
        yield Inject(fault, fault_at(each, schedule.kinds, topology, source))
    yield Pass(source.randint(*schedule.hold_ms))
    heals = [Heal(fault) for fault in names]
    yield from ([*heals, Heal(name)] if even(source) else [Heal(name), *heals])


def after_start(member: Member, name: str, drawn: DrawnRoll) -> Iterator[Move]:
    """Let a node lose power as soon as it has its other version: alone, or with a majority of its role."""
    schedule, topology, source = drawn
    if not schedule.power_chance or source.random() >= schedule.power_chance:
        return
    alike = _others(member, topology, source)
    hit = [member] if even(source) else [member, *alike[: (len(alike) + 1) // 2]]
    names = [f"power-{name}-{number}" for number in range(1, len(hit) + 1)]
    for fault, each in zip(names, hit, strict=True):
        yield Inject(fault, PowerLoss(each, draw=source.randrange(DRAWS)))
    yield Pass(source.randint(*schedule.hold_ms))
    yield from map(Heal, names)


def _taking_majority(member: Member, topology: Topology, source: random.Random) -> list[Member]:
    """Controllers without which, and without the node, the quorum has no majority."""
    voters, votes = len(topology.voters()), _votes(member, topology)
    places = [place for place in range(1, voters + 1) if not votes or place != member.number]
    return [controller(place) for place in source.sample(places, voters // 2 + 1 - votes)]


def _keeping_majority(member: Member, topology: Topology, source: random.Random) -> Member | None:
    """A node without which, and without the other one, the quorum has a majority; None if there is none."""
    voters = len(topology.voters())
    spare = (voters - 1) // 2 > _votes(member, topology)
    places = range(1, voters + 1) if spare and topology.mode is Mode.ISOLATED else ()
    every = [*(broker(n) for n in range(1, topology.brokers + 1)), *map(controller, places)]
    fitting = [each for each in every if each != member and (spare or not _votes(each, topology))]
    return source.choice(fitting) if fitting else None


def _votes(member: Member, topology: Topology) -> bool:
    """Whether a node is a voter."""
    combined = topology.mode is Mode.COMBINED
    return member.role is Role.CONTROLLER or (combined and member.number <= len(topology.voters()))


def _others(member: Member, topology: Topology, source: random.Random) -> list[Member]:
    """The other nodes of the same role, in any order."""
    size = len(topology.voters()) if member.role is Role.CONTROLLER else topology.brokers
    numbers = [number for number in range(1, size + 1) if number != member.number]
    return [Member(member.role, number) for number in source.sample(numbers, len(numbers))]
