"""Checks whether a smaller scenario can still be run: all nodes that its schedule names must exist."""

from collections.abc import Iterable, Iterator

import msgspec

from harness.cluster.rendering import problems_with
from harness.plan.loads import problems_of_load
from harness.plan.misfits import misfits_of, parts_of
from harness.plan.schedule import faults_of, problems_of
from harness.vocabulary.gambits import Given
from harness.vocabulary.scenario import RandomSchedule, RollingSchedule, Scenario


def fits(scenario: Scenario) -> bool:
    """Whether topology, schedule and load fit together."""
    schedule, topology = scenario.schedule, scenario.topology
    if isinstance(schedule, RandomSchedule | RollingSchedule) or problems_with(
        topology, scenario.kafka_version
    ):
        return False
    if problems_of(schedule) or any(fault.unavailable_because(topology) for fault in faults_of(schedule)):
        return False
    if problems_of_load(scenario) or any(misfits_of(schedule, topology)):
        return False
    return all(number < scenario.workload.partitions for number in _partitions(_structs(schedule)))


def _partitions(parts: Iterable[msgspec.Struct]) -> Iterator[int]:
    """Numbers of partitions that the pieces of a schedule name."""
    for part in parts:
        number = getattr(part, "partition", None)
        if isinstance(number, int):
            yield number
        if isinstance(part, Given) and part.where is not None:
            yield part.where[1]
        for named in (getattr(part, "partitions", None), getattr(part, "targets", None)):
            yield from (each[1] for each in named or ())


def _structs(value: object) -> Iterator[msgspec.Struct]:
    """A value and all its components that are structs of the vocabulary."""
    if isinstance(value, msgspec.Struct):
        yield value
    for part in parts_of(value):
        yield from _structs(part)
