"""Describes the size of a scenario, and the parts that were removed from it."""

from typing import NamedTuple

from harness.campaigns.minimising.passes import planned_of
from harness.campaigns.minimising.pieces import FAULTS, counts_of
from harness.plan.schedule import blinks_of, faults_of
from harness.vocabulary.scenario import Scenario
from harness.vocabulary.workloads import Workload

_MS_PER_S = 1_000


class Size(NamedTuple):
    """The size of a scenario.

    Attributes:
        faults: number of faults of the schedule and of gambits, without blinks.
        pieces: number of pieces of its schedule, by kind.
        nodes: number of nodes of its cluster.
        partitions: number of partitions of each topic.
        processes: number of processes of its load.
        duration_s: approximate duration of its schedule, seconds.
    """

    faults: int
    pieces: dict[str, int]
    nodes: int
    partitions: int
    processes: int
    duration_s: int


def size_of(scenario: Scenario) -> Size:
    """The size of a scenario whose schedule is planned."""
    schedule, workload = planned_of(scenario), scenario.workload
    return Size(
        faults=len(faults_of(schedule)) - len(blinks_of(schedule)),
        pieces={kind: count for kind, count in counts_of(schedule).items() if kind != FAULTS},
        nodes=len(scenario.topology.nodes()),
        partitions=len(workload.assignments) or workload.partitions,
        processes=0 if type(workload) is Workload else workload.processes,
        duration_s=round(schedule.duration_ms / _MS_PER_S),
    )


def reduction_text(before: Size, after: Size) -> str:
    """The remaining size, such as ``2 of 14 faults, 3 nodes, 18 s``."""
    return (
        f"{after.faults} of {before.faults} {'fault' if before.faults == 1 else 'faults'}, "
        f"{after.nodes} {'node' if after.nodes == 1 else 'nodes'}, {after.duration_s} s"
    )


def taken_away(before: Size, after: Size) -> tuple[str, ...]:
    """A text for each size that is smaller than before."""
    pairs = {
        "faults": (before.faults, after.faults),
        **{kind: (count, after.pieces.get(kind, 0)) for kind, count in before.pieces.items()},
        "nodes": (before.nodes, after.nodes),
        "partitions": (before.partitions, after.partitions),
        "client processes": (before.processes, after.processes),
        "seconds": (before.duration_s, after.duration_s),
    }
    return tuple(f"{was - now} of {was} {name}" for name, (was, now) in pairs.items() if now < was)
