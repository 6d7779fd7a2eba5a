"""The steps of reassignments in the metadata log: how each one ended, and which replicas remained."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from checkers.administration.reassignments.anomalies import (
    NOT_RESTORED,
    PREMATURE,
    TOO_FEW,
    UNASKED,
    WITHOUT_END,
)
from checkers.columns.tables import PartitionName
from checkers.evidence.partition_changes import PartitionChanges, PartitionState
from checkers.verdict.verdict import Anomaly


class Ending(StrEnum):
    """The ways in which an ongoing reassignment can end."""

    COMPLETED = "completed"
    CANCELLED = "cancelled"
    OVERRIDDEN = "overridden"


class EndedReassignment(NamedTuple):
    """A record that ended a reassignment.

    A reassignment without obstacles begins and completes in one record.

    Attributes:
        partition: what was reassigned.
        ending: how it ended.
        before: the state before the record.
        after: the state after the record.
    """

    partition: PartitionName
    ending: Ending
    before: PartitionState
    after: PartitionState

    @property
    def adding(self) -> frozenset[int]:
        """Replicas that it added."""
        return frozenset(self.after.replicas).difference(self.before.original)

    @property
    def removing(self) -> frozenset[int]:
        """Replicas that it removed."""
        return frozenset(self.before.original).difference(self.after.replicas)

    @property
    def lacking(self) -> tuple[int, ...]:
        """Replicas that remain, and that were not in sync at the end."""
        return tuple(replica for replica in self.after.replicas if replica not in self.after.isr)

    @property
    def fresh(self) -> tuple[int, ...]:
        """Replicas in sync after this record that had no copy before it, and so had fetched nothing."""
        had = {*self.before.replicas, *self.before.isr}
        return tuple(replica for replica in self.after.isr if replica not in had)

    @property
    def premature(self) -> bool:
        """Whether it was completed although a replica that had to be in sync was not."""
        if self.ending is Ending.CANCELLED or self.after.moving:
            return False
        fewer = len(self.adding) < len(self.removing)
        late = self.adding.intersection(self.lacking)
        return bool(late or self.fresh or (fewer and self.lacking))


def steps_of(changes: PartitionChanges) -> Iterator[EndedReassignment]:
    """Every end of a reassignment."""
    for partition, states in changes.states.items():
        for before, after in pairwise(states):
            ending = _ending(before, after)
            if ending is not None:
                yield EndedReassignment(partition, ending, before, after)


def _ending(before: PartitionState, after: PartitionState) -> Ending | None:
    if not before.moving:
        at_once = not after.moving and set(after.replicas) != set(before.replicas)
        return Ending.COMPLETED if at_once else None
    if after.moving:
        return Ending.OVERRIDDEN if after.target != before.target else None
    if after.replicas == before.target:
        return Ending.COMPLETED
    # A request for the replicas that a partition already has also overrides a reassignment, but moves no
    # replica.
    return Ending.CANCELLED if set(after.replicas) == set(before.original) else Ending.OVERRIDDEN


def find_premature(steps: list[EndedReassignment], op: int | None) -> Iterator[Anomaly]:
    """Reassignments that were completed too early.

    Args:
        steps: all ends of reassignments.
        op: index of the observation that reports the metadata log.
    """
    for step in steps:
        if step.premature:
            before, after = step.before, step.after
            yield PREMATURE.found(
                f"The reassignment of {step.partition} to {list(after.replicas)} was completed while "
                f"{[*step.lacking, *step.fresh]} of them were not in sync.",
                subject=str(step.partition),
                witness=_witness(op),
                explanation=(
                    f"Before it the replicas were {list(before.original)}.",
                    f"Offset {after.offset} of the metadata log completed it with the ISR {list(after.isr)}.",
                    *(
                        f"Until then {replica} had no copy of the partition, so it could not be in sync."
                        for replica in step.fresh
                    ),
                ),
            )


def find_too_few(
    changes: PartitionChanges, asked: Mapping[PartitionName, set[frozenset[int]]]
) -> Iterator[Anomaly]:
    """Partitions with fewer replicas than at their creation and than in any request.

    Args:
        changes: the partitions' states.
        asked: by partition, all sets of replicas that may have been requested.
    """
    for partition, states in changes.states.items():
        made = len(states[0].replicas)
        least = min(made, *(len(each) for each in asked.get(partition, ())), made)
        short = next((state for state in states if len(state.replicas) < least), None)
        if short is not None:
            yield TOO_FEW.found(
                f"{partition} had the replicas {list(short.replicas)}; it was created with {made}, "
                f"and no request asked for fewer than {least}.",
                subject=str(partition),
                witness=_witness(changes.op),
                explanation=(f"Offset {short.offset} of the metadata log has this state.",),
            )


def find_not_restored(
    steps: list[EndedReassignment], asked: Mapping[PartitionName, set[frozenset[int]]], op: int | None
) -> Iterator[Anomaly]:
    """Reassignments that ended with replicas that were neither requested nor the old ones.

    Args:
        steps: all ends of reassignments.
        asked: by partition, all sets of replicas that may have been requested.
        op: index of the observation that reports the metadata log.
    """
    for step in steps:
        left = step.after.replicas
        over = step.ending is Ending.OVERRIDDEN and not step.after.moving
        if over and frozenset(left) not in asked.get(step.partition, set()):
            yield NOT_RESTORED.found(
                f"The reassignment of {step.partition} ended with the replicas {list(left)}, which "
                f"no request asked for; before it the replicas were {list(step.before.original)}.",
                subject=str(step.partition),
                witness=_witness(op),
                explanation=(f"Offset {step.after.offset} of the metadata log ended it.",),
            )


def find_unrequested(
    changes: PartitionChanges, asked: Mapping[PartitionName, set[frozenset[int]]]
) -> Iterator[Anomaly]:
    """Replicas that were being added, or were added at once, although they had not been requested.

    Ends of reassignments, and partitions with fewer replicas, are judged by other rules.

    Args:
        changes: the partitions' states.
        asked: by partition, all sets of replicas that may have been requested.
    """
    for partition, states in changes.states.items():
        for before, after in pairwise(states):
            wanted = frozenset(after.target)
            begun = after.moving or not before.moving
            if begun and wanted.difference(before.replicas) and wanted not in asked.get(partition, set()):
                yield UNASKED.found(
                    f"{partition} was being moved to the replicas {list(after.target)}, which no "
                    "request asked for.",
                    subject=str(partition),
                    witness=_witness(changes.op),
                    explanation=(
                        f"Before it the replicas were {list(before.original)}.",
                        f"Offset {after.offset} of the metadata log has this state.",
                    ),
                )


def find_without_end(changes: PartitionChanges) -> Iterator[Anomaly]:
    """Reassignments that still continue at the end of the log, although they had nothing to wait for.

    Every record that changes a partition completes a reassignment whose conditions are met.  So the record
    with which the last replica becomes in sync must complete it.

    Args:
        changes: the partitions' states.
    """
    for partition, states in changes.states.items():
        last = states[-1]
        if last.moving and set(last.target) <= set(last.isr):
            stands = f"replicas {list(last.replicas)}, ISR {list(last.isr)}"
            yield WITHOUT_END.found(
                f"The reassignment of {partition} to {list(last.target)} did not complete although "
                "these replicas are in sync.",
                subject=str(partition),
                witness=_witness(changes.op),
                explanation=(
                    f"Offset {last.offset} of the metadata log is the last record about it.",
                    f"It has {stands}, adding {list(last.adding)}, removing {list(last.removing)}.",
                ),
            )


def _witness(op: int | None) -> tuple[int, ...]:
    return () if op is None else (op,)
