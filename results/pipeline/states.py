"""The rows of the tables `cluster_state` and `faults`: who led and was in sync, and what was done to whom."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa

from checkers.faults import fault_windows
from checkers.history import History, Operation
from checkers.quorum.views import NONE, Voter
from results.pipeline.columnar import Array, assembled, integers, lists, rows, texts

_COLUMNS = (
    "time_ns", "view", "subject", "topic", "partition", "leader", "leader_epoch",
    "isr", "elr", "replicas", "voters", "high_watermark", "end_offset",
)  # fmt: skip
_TEXTS = {"view", "subject", "topic"}
_LISTS = {"isr", "elr", "replicas", "voters"}


class _Leading(msgspec.Struct, frozen=True):
    """What a controller's answer as leader tells of the quorum."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Voter, ...]

    @property
    def end_offset(self) -> int:
        return next((v.log_end_offset for v in self.voters if v.id == self.leader_id), NONE)


def cluster_state_of(history: History) -> pa.Table:
    """What every node that was asked told, partitions first, each in the order of the history."""
    told = [*_partitions(history), *_quorum(history)]
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


def _quorum(history: History) -> Iterator[tuple[Any, ...]]:
    """Answers as leader; one that has not its shape has no row: the checker that reads it says so."""
    for operation in history.operations:
        answer = _leading(operation) if operation.f == "observe" and operation.key == "quorum" else None
        if answer is None:
            continue
        voters = [voter.id for voter in answer.voters]
        state = (_known(answer.leader_id), answer.leader_epoch, None, None, None, voters)
        ends = (_known(answer.high_watermark), _known(answer.end_offset))
        yield (operation.time_ns, operation.node, "quorum", None, None, *state, *ends)


def _leading(operation: Operation) -> _Leading | None:
    try:
        return msgspec.convert(operation.value, _Leading)
    except msgspec.ValidationError:
        return None


def _known(number: int) -> int | None:
    """Kafka's -1 stands for none."""
    return None if number < 0 else number
