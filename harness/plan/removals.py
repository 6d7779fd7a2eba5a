"""Parts of a schedule that may remove records of topics: deletions, and configs of retention."""

import random
from collections.abc import Collection, Iterator

import msgspec

from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.plan.misfits import parts_of
from harness.vocabulary.administration import AlterTopic
from harness.vocabulary.gambits import AlterChosen, DeleteFromChosen
from harness.vocabulary.moves import Configure, ScriptedSchedule
from harness.vocabulary.scenario import FixedSchedule, RandomSchedule, RollingSchedule, Scenario
from harness.vocabulary.topology import Topology

OF_BROKERS = (
    "log.retention.ms",
    "log.retention.minutes",
    "log.retention.hours",
    "log.retention.bytes",
    "log.cleanup.policy",
)
"""Configs of brokers by which records of a topic without configs of its own are removed."""
_OF_TOPICS = ("retention.", "local.retention.", "cleanup.policy")
"""Beginnings of configs of topics by which records are removed."""


def removals_in(scenario: Scenario, topics: Collection[str]) -> Iterator[str]:
    """What a scenario's schedule may do to remove records of topics, each with its place in the schedule."""
    for where, part in _placed(scenario.schedule, scenario.topology):
        for what in within(part, topics):
            yield f"{where} {what}"


def _placed(
    schedule: FixedSchedule | RandomSchedule | RollingSchedule | ScriptedSchedule, topology: Topology
) -> Iterator[tuple[str, object]]:
    """The parts of a schedule; of a random one the gambits, all of whose draws make the same requests."""
    match schedule:
        case FixedSchedule():
            groups: tuple[tuple[str, tuple[msgspec.Struct, ...]], ...] = (
                ("act {}", schedule.acts),
                ("gambit {}", schedule.gambits),
            )
        case ScriptedSchedule():
            groups = (("move {}", schedule.moves),)
        case RollingSchedule():
            groups = (
                ("move {} between upgrades", schedule.between),
                ("move {} during upgrades", schedule.during),
            )
        case RandomSchedule():
            fitting = [
                name
                for name, weight in schedule.gambits.items()
                if weight and schedule.gambit_share and name in GAMBITS and GAMBITS[name].fits(topology)
            ]
            yield from (
                (f"gambit {name}", drawn_gambit(name, topology, random.Random(0))[0]) for name in fitting
            )
            return
    for noun, parts in groups:
        yield from ((noun.format(place), part) for place, part in enumerate(parts, start=1))


def within(part: object, topics: Collection[str]) -> Iterator[str]:
    """What a part of a schedule requests to remove records of topics, at any depth."""
    match part:
        case DeleteFromChosen():
            yield "deletes records"
        case AlterTopic(topic=topic, config=config) if topic in topics and config.startswith(_OF_TOPICS):
            yield f"sets {config} of {topic}"
        case AlterChosen(config=config) if config.startswith(_OF_TOPICS):
            yield f"sets {config} of a topic"
        case Configure(properties=properties):
            yield from (
                f"sets {name} of a node"
                for name, value in sorted(properties.items())
                if value is not None and name.startswith(OF_BROKERS)
            )
        case _:
            for inner in parts_of(part):
                yield from within(inner, topics)
