"""Draws a rolling upgrade from a seed, as a script of moves."""

import random
from collections.abc import Iterator, Sequence

from checkers.history.error_codes import ErrorCode
from harness.plan.gambit_pieces import even
from harness.plan.random_schedules import drawn_fault
from harness.plan.roll_faults import DrawnRoll, after_start, while_away
from harness.vocabulary.administration import Member, UpdateFeature, broker, controller
from harness.vocabulary.faults import Upgrade
from harness.vocabulary.moves import Acknowledged, Await, Heal, Inject, Move, Pass, Perform, ScriptedSchedule
from harness.vocabulary.scenario import RollingSchedule
from harness.vocabulary.topology import Mode, Topology

_BEGIN = Await(Acknowledged(100), within_ms=60_000)
_END = (Await(Acknowledged(200)), Pass(3_000))
_FEATURE_MS = 30_000


def drawn_roll(schedule: RollingSchedule, topology: Topology, source: random.Random) -> ScriptedSchedule:
    """The moves of a rolling upgrade.

    If there is only one node, its upgrade ends before it is undone.
    """
    order = _order(schedule, topology, source)
    undone = source.random() < schedule.undone_chance
    upgraded = order[: source.randint(1, max(1, len(order) - 1))] if undone else order
    drawn = DrawnRoll(schedule, topology, source)
    moves = [*_changes(upgraded, None, drawn)]
    if undone:
        back = list(reversed(upgraded)) if even(source) else _shuffled(upgraded, source)
        moves += _changes(back, topology.start_version, drawn)
    else:
        moves += [
            Perform(UpdateFeature(feature), expect=(ErrorCode.NONE,), until_ms=_FEATURE_MS)
            for feature in schedule.features
        ]
    return ScriptedSchedule((_BEGIN, *schedule.between, *moves, *_END), schedule.duration_ms)


def _order(schedule: RollingSchedule, topology: Topology, source: random.Random) -> list[Member]:
    """All nodes: controllers first, brokers first, or in any order; within a role in any order."""
    brokers = _shuffled([broker(n) for n in range(1, topology.brokers + 1)], source)
    if topology.mode is Mode.COMBINED:
        return brokers
    controllers = _shuffled([controller(n) for n in range(1, topology.controllers + 1)], source)
    if source.random() >= schedule.mixed_chance:
        return controllers + brokers
    return source.choice((brokers + controllers, _shuffled(controllers + brokers, source)))


def _changes(members: Sequence[Member], version: str | None, drawn: DrawnRoll) -> Iterator[Move]:
    """Change the version of nodes one after the other, with faults in between; None: the run's version."""
    schedule, topology, source = drawn
    to = "up" if version is None else "back"
    for member in members:
        name = f"{member.role}-{member.number}-{to}"
        yield from (Inject(name, Upgrade(member, version=version)), *schedule.during)
        yield from (*while_away(member, name, drawn), *after_start(member, name, drawn), *schedule.between)
        if source.random() < schedule.fault_chance:
            fault = drawn_fault(schedule.kinds, topology, source)
            yield from (Inject(f"after-{name}", fault), Pass(source.randint(*schedule.hold_ms)))
            yield from (Heal(f"after-{name}"), *schedule.between)


def _shuffled(members: Sequence[Member], source: random.Random) -> list[Member]:
    return source.sample(members, len(members))
