"""The rows of the tables `cluster_state` and `faults`: who led and was in sync, and what was done to whom."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from checkers.faults import fault_windows
from checkers.history import History
from checkers.quorum.views import LeaderClaim, views_of
from results.pipeline.columnar import Array, assembled, integers, lists, rows, texts

_COLUMNS = (
    "time_ns", "view", "subject", "topic", "partition", "leader", "leader_epoch",
    "isr", "elr", "replicas", "voters", "high_watermark", "end_offset",
)  # fmt: skip
_TEXTS = {"view", "subject", "topic"}
_LISTS = {"isr", "elr", "replicas", "voters"}


def cluster_state_of(history: History) -> pa.Table:
    """What every node that was asked told, partitions first, each in the order of the history.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    told = [*_partitions(history), *map(_quorum, views_of(history).claims)]
    columns = zip(*told, strict=True) if told else ((),) * len(_COLUMNS)
    return assembled(
        "cluster_state",
        history.run,
        {name: _array(name, list(values)) for name, values in zip(_COLUMNS, columns, strict=True)},
    )


def faults_of(history: History) -> pa.Table:
    """The faults that were injected, or may have been.

    Raises:
        KeyError, msgspec.ValidationError: one is not as docs/histories.md says.
    """
    return rows(
        "faults",
        history.run,
        [
            {
                "fault": number,
                "id": window.id,
                "kind": window.kind,
                "targets": list(window.targets),
                "asked_ns": window.invoked_ns,
                "in_force_ns": window.effective_ns,
                "heal_asked_ns": window.heal_invoked_ns,
                "healed_ns": window.healed_ns,
                "proven": window.proven,
            }
            for number, window in enumerate(fault_windows(history), start=1)
        ],
    )


def _array(name: str, values: list[Any]) -> Array:
    if name in _TEXTS:
        return texts(values)
    return lists(values) if name in _LISTS else integers(values)


def _partitions(history: History) -> Iterator[tuple[Any, ...]]:
    for operation in history.operations:
        if operation.f != "observe" or operation.key != "partitions":
            continue
        for topic, partitions in operation.value["topics"].items():
            for partition, leader, epoch, replicas, isr, elr in partitions:
                state = (topic, partition, _known(leader), epoch, isr, elr, replicas, None, None, None)
                yield (operation.time_ns, operation.node, "partition", *state)


def _quorum(claim: LeaderClaim) -> tuple[Any, ...]:
    voters = [voter.id for voter in claim.voters]
    state = (_known(claim.leader_id), claim.epoch, None, None, None, voters)
    ends = (_known(claim.high_watermark), _known(claim.leader_end))
    return (claim.time_ns, claim.node, "quorum", None, None, *state, *ends)


def _known(number: int) -> int | None:
    """Kafka's -1 stands for none."""
    return None if number < 0 else number
