"""Requests of transactional producers to coordinators: initialisations and transactions."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkers.columns.tables import NEVER
from checkers.history.operations import INVOKE, OK, History, Operation, once
from checkers.history.transactions import sends_of

_OFFSET = 4
"""Index of the offset in a send of a completed transaction."""


class OperationPair(NamedTuple):
    """An operation as its invocation and its completion; `ended` is None if it has none."""

    begun: Operation
    ended: Operation | None

    @property
    def to_ns(self) -> int:
        """The latest time at which it took effect; `NEVER` if it was not acknowledged."""
        return self.ended.time_ns if self.ended is not None and self.ended.type is OK else NEVER


@once
def transactions(history: History) -> tuple[OperationPair, ...]:
    """All transactions; those without a completion come last."""
    return tuple(_calls(history.of("txn")))


@once
def initialisations(history: History) -> tuple[OperationPair, ...]:
    """All initialisations of transactional producers; those without a completion come last."""
    return tuple(_calls(history.of("init-transactions")))


def is_acknowledged(mop: Sequence[object]) -> bool:
    """Whether a send of a completed transaction was acknowledged: it has an offset."""
    return len(mop) > _OFFSET and mop[_OFFSET] is not None


def is_committed(call: OperationPair) -> bool:
    """Whether a coordinator acknowledged the commit of a transaction."""
    return call.ended is not None and call.ended.type is OK


def is_decided(call: OperationPair) -> bool:
    """Whether a transaction was certainly committed, or aborted on purpose, by its coordinator.

    If no record of the transaction was acknowledged, the client alone decides its end.
    """
    ended = call.ended
    if ended is None or ended.error is not None or not isinstance(ended.value, dict):
        return False
    return any(map(is_acknowledged, sends_of(ended)))


def earlier_transactions(
    history: History, call: OperationPair, producer: OperationPair
) -> list[OperationPair]:
    """Transactions of the same process and id since an initialisation, before another transaction.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the later transaction.
        producer: the initialisation.
    """
    return [
        each
        for each in transactions(history)
        if each.begun.process == call.begun.process
        and each.begun.key == call.begun.key
        and producer.begun.index < each.begun.index < call.begun.index
    ]


def producer_of(history: History, call: OperationPair) -> OperationPair | None:
    """The latest acknowledged initialisation of the transactional id by the transaction's own process."""
    mine = [
        each
        for each in initialisations(history)
        if each.begun.process == call.begun.process
        and each.begun.key == call.begun.key
        and each.begun.index < call.begun.index
        and each.to_ns != NEVER
    ]
    return mine[-1] if mine else None


def asked_ns(call: OperationPair) -> int:
    """The earliest time at which a transaction's end was requested."""
    value = call.ended.value if call.ended is not None else None
    ending_ns = value.get("ending_ns") if isinstance(value, dict) else None
    return call.begun.time_ns if ending_ns is None else int(ending_ns)


def _calls(operations: Sequence[Operation]) -> Iterator[OperationPair]:
    """Invocations with their completions, in the order of completion; those without one come last."""
    outstanding: dict[int | str, Operation] = {}
    for operation in operations:
        if operation.type is INVOKE:
            outstanding[operation.process] = operation
        elif operation.process in outstanding:
            yield OperationPair(outstanding.pop(operation.process), operation)
    yield from (OperationPair(begun, None) for begun in outstanding.values())
