"""Reassignments that the controller did not complete with the record that met their condition (KAFKA-19975).

Kafka tests the condition whenever it makes a record that changes a partition, and a record that meets it also
completes the reassignment: all added replicas are in sync, and if fewer are added than removed, all replicas
of the target are.  Replicas that are removed do not count.  From 3.8.0 on, before 4.3.0, all replicas of the
target had to be in sync in any case, so one that was down and that the reassignment did not touch held it up.

The rule compares records, not times, so a failed or paused controller, a fenced broker, or a partition about
which nothing is written for a while can't break it.  Some records that a correct controller writes meet the
condition only by what it decides after the test:

- An election leaves the new leader alone in the ISR if it was not in sync before.
- Without eligible replicas, the last member of the ISR stays in it when it leaves, and there is no leader.
- ``CLEAR_ELR_RECORD`` changes partitions without such a test.

They are passed over.  The next record about the partition is judged.
"""

from collections.abc import Iterator
from itertools import groupby, pairwise

from checkers.administration.reassignments.anomalies import HELD_UP
from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.metadata_whole import opaque_records, thinned_logs
from checkers.evidence.partition_changes import NOBODY, PartitionChanges, PartitionState
from checkers.history.operations import History
from checkers.history.units import NS_PER_S
from checkers.verdict.verdict import Anomaly


def find_held_up(history: History, changes: PartitionChanges) -> Iterator[Anomaly]:
    """Reassignments whose condition a record met without completing them, each once.

    A log that lacks records is not judged, nor one with records that could not be decoded, because one of
    them may have completed a reassignment.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        changes: the partitions' states.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    if changes.op in thinned_logs(history) or any(opaque_records(history)):
        return
    for partition, states in changes.states.items():
        for assignment, steps in groupby(pairwise(states), key=lambda step: _assignment(step[1])):
            due = next((after for before, after in steps if _is_due(before, after)), None)
            if due is not None:
                later = (state for state in states if state.offset > due.offset)
                end = next((state for state in later if _assignment(state) != assignment), None)
                yield _held_up(partition, due, end, changes)


def awaited(state: PartitionState) -> frozenset[int]:
    """The replicas that must be in sync for a reassignment to complete; none if nothing is reassigned."""
    fewer = len(state.adding) < len(state.removing)
    return frozenset((*state.adding, *(state.target if fewer else ())))


def _is_due(before: PartitionState, after: PartitionState) -> bool:
    """Whether the record between two states had to complete the reassignment that continues after it."""
    needed = awaited(after)
    if not needed or not needed <= set(after.isr).difference(after.removing):
        return False
    alone = after.elected and after.isr == (after.leader,)
    return after.leader != NOBODY and not alone and _without_elr(before) != _without_elr(after)


def _assignment(state: PartitionState) -> tuple[tuple[int, ...], ...]:
    return state.replicas, state.adding, state.removing


def _without_elr(state: PartitionState) -> tuple[object, ...]:
    """All that a record that clears eligible leader replicas leaves as it is (KIP-966)."""
    kept = (state.leader, state.leader_epoch, state.isr, state.directories, state.recovering)
    return kept + _assignment(state)


def _held_up(
    partition: PartitionName, due: PartitionState, end: PartitionState | None, changes: PartitionChanges
) -> Anomaly:
    seen_ns = changes.span(due).to_ns
    return HELD_UP.found(
        f"The reassignment of {partition} to {list(due.target)} was held up: it waits for "
        f"{sorted(awaited(due))}, and the record that has them in sync did not complete it.",
        subject=str(partition),
        time_ns=None if seen_ns == NEVER else seen_ns,
        witness=() if changes.op is None else (changes.op,),
        explanation=_proof(due, end, changes),
    )


def _proof(due: PartitionState, end: PartitionState | None, changes: PartitionChanges) -> Iterator[str]:
    yield (
        f"This is offset {due.offset} of the metadata log: replicas {list(due.replicas)}, ISR "
        f"{list(due.isr)}, adding {list(due.adding)}, removing {list(due.removing)}."
    )
    lacking = [replica for replica in due.target if replica not in due.isr]
    if lacking:
        yield f"{lacking} were not in sync, and the reassignment does not wait for them."
    if end is None:
        yield "It continued to the end of the log."
        return
    least_ns = changes.span(end).from_ns - changes.span(due).to_ns
    later = f", at least {least_ns / NS_PER_S:.1f} s later" if least_ns > 0 else ""
    yield f"It continued until offset {end.offset}{later}."
