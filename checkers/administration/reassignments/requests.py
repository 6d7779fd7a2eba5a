"""Whether the metadata log has the changes of acknowledged requests."""

from collections.abc import Iterator, Sequence

from checkers.administration.reassignments.anomalies import LOST
from checkers.evidence.administration import Reassignment
from checkers.evidence.fates import fits
from checkers.evidence.partition_changes import PartitionChanges, PartitionState
from checkers.verdict.verdict import Anomaly


def find_lost(asked: Sequence[Reassignment], changes: PartitionChanges) -> Iterator[Anomaly]:
    """Acknowledged requests that never reached the metadata log, or that were undone without a request."""
    for request in asked:
        if not request.acknowledged or request.partition not in changes.states:
            continue
        states = changes.possible(request.partition, request.request.from_ns, request.request.to_ns)
        fitting = [state for state in states if fits(request, state)]
        if states and not fitting and changes.is_complete(request.partition, request.request.to_ns):
            yield _lost(request, "never reached the metadata log", changes, states)
        elif fitting and not _overridden(request, asked):
            rest = [s for s in changes.states[request.partition] if s.offset > fitting[-1].offset]
            undone = [state for state in rest if not fits(request, state)]
            if undone and not _cancelled_unheard(undone[0], request, asked, changes):
                yield _lost(request, "was undone without a request", changes, undone[:1])


def _overridden(request: Reassignment, asked: Sequence[Reassignment]) -> bool:
    """Whether another request that may have been executed was made at the same time, or later."""
    return any(
        other is not request
        and other.partition == request.partition
        and not other.refused
        and other.request.to_ns >= request.request.from_ns
        for other in asked
    )


def _cancelled_unheard(
    state: PartitionState, request: Reassignment, asked: Sequence[Reassignment], changes: PartitionChanges
) -> bool:
    """Whether a state may have begun while a cancellation was requested that found nothing to cancel."""
    return any(
        other.cancelled_unheard
        and other.partition == request.partition
        and changes.span(state).meets(other.request.from_ns, other.request.to_ns)
        for other in asked
    )


def _lost(
    request: Reassignment, what: str, changes: PartitionChanges, states: Sequence[PartitionState]
) -> Anomaly:
    asked = "cancellation" if request.target is None else f"reassignment to {list(request.target)}"
    return LOST.found(
        f"The acknowledged {asked} of {request.partition} {what}.",
        subject=str(request.partition),
        time_ns=request.request.to_ns,
        witness=(*request.request.operations, *(() if changes.op is None else (changes.op,))),
        explanation=[_sentence(state) for state in states],
    )


def _sentence(state: PartitionState) -> str:
    moving = f"adding {list(state.adding)}, removing {list(state.removing)}"
    return f"From offset {state.offset} of the metadata log on: replicas {list(state.replicas)}, {moving}."
