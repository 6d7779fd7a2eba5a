"""At least once: every record that a group passed was delivered to one of its members."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers
from checkers.groups.anomalies import UNDELIVERED
from checkers.groups.loading import Assignment, Groups, OffsetCommit
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


@dataclass(frozen=True, slots=True)
class Delivery:
    """The deliveries of the records of one place.

    Attributes:
        place: the partition that the group reads.
        given: number of records that members received.
        passed: offsets of records that the group passed and that no member received, ascending.
        open: number of records that no member received, and that the group did not pass.
        reached: whether a member in the final phase read up to the listed end.
    """

    place: GroupPartition
    given: int
    passed: Integers
    open: int
    reached: bool


def delivery_of(groups: Groups, place: GroupPartition) -> Delivery:
    """Compare the records that exist at the end with those that members received."""
    listed = groups.listed.get((place.topic, place.partition))
    given = groups.offsets(place)
    if listed is None:
        return Delivery(place, len(given), given[:0], 0, reached=False)
    missing = np.setdiff1d(listed.offsets, given, assume_unique=True)
    drained = _drained_to(groups, place)
    bound = max([drained, *(position for position, _ in _passing(groups, place))])
    passed = missing[missing < bound]
    return Delivery(place, len(given), passed, len(missing) - len(passed), reached=drained >= listed.end)


def find_undelivered(groups: Groups, delivery: Delivery) -> Iterator[Anomaly]:
    """At most `EXAMPLES_PER_ANOMALY` findings, one for each record."""
    for offset in delivery.passed[:EXAMPLES_PER_ANOMALY].tolist():
        place = delivery.place
        covering = next((by for position, by in _passing(groups, place) if position > offset), None)
        lines = [f"{len(delivery.passed)} records of {place} were returned to no member of the group."]
        witness: tuple[int, ...] = ()
        time_ns = None
        if isinstance(covering, OffsetCommit):
            witness, time_ns = covering.positions, covering.time_ns
            went = f"offset {covering.offsets[place.partition]} was committed"
        elif isinstance(covering, Assignment):
            witness, time_ns = (covering.begin, covering.end), covering.time_ns
            went = f"an assignment started at {covering.starts[place.partition]}"
        else:
            went = "the last member read to the end"
        yield UNDELIVERED.found(
            f"{place}@{offset} was returned to no member of the group, but {went}",
            subject=f"{place}@{offset}",
            time_ns=time_ns,
            witness=witness,
            explanation=lines,
        )


def _passing(groups: Groups, place: GroupPartition) -> Iterator[tuple[int, OffsetCommit | Assignment]]:
    """The offsets that the group certainly reached: acknowledged commits, then beginnings of assignments."""
    for commit in groups.commits.get(place.group, ()):
        if commit.acknowledged and commit.topic == place.topic and place.partition in commit.offsets:
            yield commit.offsets[place.partition], commit
    for assignment in groups.assignments.get(place.group, ()):
        if assignment.topic == place.topic and place.partition in assignment.starts:
            yield assignment.starts[place.partition], assignment


def _drained_to(groups: Groups, place: GroupPartition) -> int:
    """The offset that members of the final phase reached; `NONE` if none was assigned the place."""
    starts = [
        assignment.starts[place.partition]
        for assignment in groups.assignments.get(place.group, ())
        if groups.final is not None
        and assignment.begin > groups.final
        and assignment.topic == place.topic
        and place.partition in assignment.starts
    ]
    return max([*starts, groups.last.get(place, NONE) + 1]) if starts else NONE
