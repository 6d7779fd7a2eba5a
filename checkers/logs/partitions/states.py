"""Conditions that a partition must meet after each record of the metadata log about it.

Each rule describes what a controller writes (`PartitionChangeBuilder`), so it holds for every record,
committed or not.  Kafka does not promise two other conditions, which are not checked: that an elected leader
was in the ISR *before*, and that the ELR is a subset of the replicas.  The end of a reassignment violates
both.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from checkers.evidence.min_isr import MinIsrBounds
from checkers.evidence.partition_changes import CHANGED, MADE, NOBODY, PartitionChange, PartitionState
from checkers.logs.partitions.anomalies import (
    CHANGE_OF_NOTHING,
    ELR_BESIDE_ISR,
    EPOCH_WENT_BACK,
    ISR_AND_ELR,
    ISR_OUTSIDE_REPLICAS,
    LEADER_OUTSIDE_ISR,
    RESTATED,
    UNFLAGGED,
)
from checkers.verdict.kinds import AnomalyKind


class Broken(NamedTuple):
    """A rule that a record violates, and how."""

    kind: AnomalyKind
    text: str


_Rule = Callable[[PartitionState], str | None]


def broken_by(step: PartitionChange, needed: MinIsrBounds) -> Iterator[Broken]:
    """Judge one record.

    Args:
        step: the record, with the states before and after.
        needed: bounds of ``min.insync.replicas`` according to configs, when the record was written.
    """
    before, after = step.before, step.after
    if after is None:
        yield Broken(CHANGE_OF_NOTHING, "it changes a partition that the log did not create, or has removed")
        return
    if step.kind == MADE and not step.has_topic:
        yield Broken(CHANGE_OF_NOTHING, "it belongs to a topic that the log did not create, or has removed")
    for kind, rule in _STATES:
        text = rule(after)
        if text is not None:
            yield Broken(kind, text)
    if before is not None:
        yield from _changed(step, before, after, needed)


def _changed(
    step: PartitionChange, before: PartitionState, after: PartitionState, needed: MinIsrBounds
) -> Iterator[Broken]:
    if step.kind == MADE:
        yield Broken(
            EPOCH_WENT_BACK,
            f"it creates the partition again, which had reached leader epoch {before.leader_epoch}",
        )
    if step.kind == CHANGED:
        if after.elr and len(after.isr) >= needed.high:
            text = f"the ELR is {list(after.elr)}, and min.insync.replicas at most {needed.high}"
            yield Broken(ELR_BESIDE_ISR, text)
        restated = [name for name, same in _restated(step, before, after) if same]
        if restated:
            yield Broken(RESTATED, f"it repeats {' and '.join(restated)}")
        if _is_unflagged(before, after):
            yield Broken(UNFLAGGED, f"broker {after.leader} was neither in the ISR nor in the ELR before it")


def _leader(state: PartitionState) -> str | None:
    if state.leader in {NOBODY, *state.isr}:
        return None
    return f"broker {state.leader} leads"


def _isr(state: PartitionState) -> str | None:
    strangers = sorted({*state.isr} - {*state.replicas})
    return f"{strangers} are not replicas" if strangers else None


def _elr(state: PartitionState) -> str | None:
    both = sorted({*state.isr} & {*state.elr})
    return f"{both} are in both" if both else None


_STATES: tuple[tuple[AnomalyKind, _Rule], ...] = (
    (LEADER_OUTSIDE_ISR, _leader),
    (ISR_OUTSIDE_REPLICAS, _isr),
    (ISR_AND_ELR, _elr),
)


def _restated(
    step: PartitionChange, before: PartitionState, after: PartitionState
) -> Iterator[tuple[str, bool]]:
    """For each optional field, whether the record has it and repeats the previous value."""
    content = step.content
    yield "the leader", content.leader == before.leader and not _begins_an_epoch(before, after)
    yield "the replicas", content.replicas == before.replicas
    yield "the ISR", content.isr == before.isr
    yield "the ELR", content.eligible_leader_replicas == before.elr
    yield "the last known leader", content.last_known_elr == before.last_known
    yield "the adding replicas", content.adding_replicas == before.adding
    yield "the removing replicas", content.removing_replicas == before.removing
    yield "the directories", content.directories == before.directories
    yield "the leader recovery state", content.leader_recovery_state == int(before.recovering)


def _begins_an_epoch(before: PartitionState, after: PartitionState) -> bool:
    """Whether replicas or ISR members are removed; then the leader is set again, to start a new epoch."""
    return not ({*before.replicas} <= {*after.replicas} and {*before.isr} <= {*after.isr})


def _is_unflagged(before: PartitionState, after: PartitionState) -> bool:
    """Whether an election was unclean although the record does not mark it as unclean.

    A replica that joins the ISR may be elected by the same record if the leader that added it can't continue.
    That leader stays in the ISR, unless a completed reassignment removes it from the replicas.
    """
    outsider = after.elected and after.leader not in {before.leader, *before.isr, *before.elr}
    completed = before.replicas != after.replicas
    joined = before.leader != NOBODY and before.leader in after.isr
    return outsider and not (after.recovering or completed or joined)
