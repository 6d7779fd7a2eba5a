"""The blinks of a random schedule: short faults whose nodes are chosen when they are due; pure.

Most effects of a fault occur when it begins and when it ends: a request is lost, a connection is opened
again, delayed data arrives.  There are many blinks, and they end before a node is considered dead.
"""

import random
from collections.abc import Callable, Iterator

from harness.plan.random_schedules import DRAWS, LEAD_MS, TAIL_MS
from harness.vocabulary.faults import (
    Fault,
    Flavour,
    HeldRequests,
    LostAnswers,
    Partition,
    Pattern,
    Pause,
    Target,
)
from harness.vocabulary.scenario import RandomSchedule, Step
from harness.vocabulary.topology import Among, Mode, Topology

PROVEN_WITHIN_S = 1.0
"""A blink that is not proven within this time is healed without proof, because it must be short."""
_PATTERNS = {"link": Pattern.LINK, "isolate": Pattern.ISOLATE_ONE}
_ANYBODY = (
    Target.ACTIVE_CONTROLLER,
    Target.QUORUM_FOLLOWER,
    Target.PARTITION_LEADER,
    Target.PARTITION_LEADER,
    Target.BROKER,
    Target.RANDOM,
)
_TARGETS = {
    Among.ALL: _ANYBODY,
    Among.BROKERS: (Target.PARTITION_LEADER, Target.PARTITION_LEADER, Target.BROKER),
    Among.CONTROLLERS: (Target.ACTIVE_CONTROLLER, Target.QUORUM_FOLLOWER),
}
"""Targets of a blink; those that are listed twice are drawn twice as often."""


def _pause(source: random.Random, _: Topology) -> Fault:
    return Pause(source.choice(_ANYBODY), source.randrange(DRAWS))


def _cut(pattern: Pattern) -> Callable[[random.Random, Topology], Fault]:
    def drawn(source: random.Random, topology: Topology) -> Fault:
        among = source.choice(tuple(Among)) if topology.mode is Mode.ISOLATED else Among.ALL
        if Partition(pattern, among=among).unavailable_because(topology):
            among = Among.ALL
        flavour = source.choice((Flavour.DROP, Flavour.DROP, Flavour.REJECT))
        return Partition(pattern, source.choice(_TARGETS[among]), flavour, among, source.randrange(DRAWS))

    return drawn


def _lost_answers(source: random.Random, _: Topology) -> Fault:
    return LostAnswers(source.choice(_TARGETS[Among.BROKERS]), source.randrange(DRAWS))


def _held_requests(source: random.Random, _: Topology) -> Fault:
    return HeldRequests(source.choice(_TARGETS[Among.BROKERS]), source.randrange(DRAWS))


BLINKS: dict[str, Callable[[random.Random, Topology], Fault]] = {
    "pause": _pause,
    **{name: _cut(pattern) for name, pattern in _PATTERNS.items()},
    "lost-answers": _lost_answers,
    "held-requests": _held_requests,
}
"""Kinds of blinks by their names in `RandomSchedule.blinks`."""


def drawn_blinks(schedule: RandomSchedule, topology: Topology, source: random.Random) -> Iterator[Step]:
    """Blinks in sequence until the end of the schedule; kinds that the topology can't have are left out."""
    weights = {name: weight for name, weight in schedule.blinks.items() if _can_be_had(name, topology)}
    at = LEAD_MS
    while weights:
        at += source.randint(*schedule.blink_gap_ms)
        hold = source.randint(*schedule.blink_hold_ms)
        (kind,) = source.choices(list(weights), list(weights.values()))
        fault = BLINKS[kind](source, topology)
        if at + hold + TAIL_MS > schedule.duration_ms:
            return
        yield Step(at, hold, fault)
        at += hold


def _can_be_had(name: str, topology: Topology) -> bool:
    return name not in _PATTERNS or Partition(_PATTERNS[name]).unavailable_because(topology) is None
