"""Converts operations on imported objects and transactions to the shape of docs/histories.md."""

from typing import Any

from checkers.foreign.records import NEMESIS, Foreign, ForeignOperation, OperationPositions
from checkers.foreign.workloads import TRANSACTIONS, ForeignWorkload, is_list_of_micro_operations
from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, Operation, OperationType

RUN = "imported"
"""The run's id in imported histories."""

_PAIR = 2
_VALUE_IN_BOTH = frozenset({"write", "cas", "add", "enqueue"})
_SHORT = {"read": "r", "write": "w"}


def history_of(foreign: Foreign, workload: ForeignWorkload) -> History:
    """The history of an object, or of transactions over lists or registers.

    If every operation's value is a pair, the first part is the key (``jepsen.independent``).

    Raises:
        HistoryError: an operation's value does not have the workload's shape.
    """
    transactional = workload in TRANSACTIONS or workload is ForeignWorkload.MULTI_REGISTER
    if transactional:
        _check_transactions(foreign)
    keyed = not transactional and _is_keyed(foreign)
    asked = invocations_of(foreign)
    clock = PositionClock()
    operations = []
    for position, record in enumerate(foreign.records):
        f = record.f
        key: object = None
        value: object = None
        if transactional and record.process != NEMESIS:
            f, value = "txn", _transaction(record, asked[position], workload)
        elif record.process != NEMESIS:
            key, value = _object_value(foreign, position, asked[position], keyed=keyed)
        operations.append(operation_of(position, record, clock, f=f, key=key, value=value))
    return imported(foreign, operations)


def _value_of(record: ForeignOperation, asked: ForeignOperation) -> Any:
    """An operation's value; if it is not ok, that of its invocation, as Jepsen's clients give a reason."""
    return asked.value if record.type in {FAIL, INFO} else record.value


def _transaction(record: ForeignOperation, asked: ForeignOperation, workload: ForeignWorkload) -> list[Any]:
    value: list[list[Any]] = _value_of(record, asked)
    if workload is not ForeignWorkload.RW_REGISTER:
        return value
    return [[_SHORT.get(part[0], part[0]), *part[1:]] for part in value]


def _object_value(
    foreign: Foreign, position: int, asked: ForeignOperation, *, keyed: bool
) -> tuple[object, object]:
    """Key and value of an operation on an object."""
    record = foreign.records[position]
    value = _value_of(record, asked)
    if record.f in _VALUE_IN_BOTH and None not in (value, asked.value) and value != asked.value:
        raise foreign.place(position).error(
            f"completes {record.f} with another value than it was invoked with", "the same value"
        )
    return _split(foreign, position, value, asked) if keyed else (None, value)


def imported(foreign: Foreign, operations: list[Operation]) -> History:
    """Return a history of these operations."""
    return History(run=RUN, began_at="", operations=tuple(operations), damage=foreign.damage)


def invocations_of(foreign: Foreign) -> list[ForeignOperation]:
    """The invocation of every operation; the invocation of an invocation is itself."""
    asked = list(foreign.records)
    for call in foreign.calls:
        if call.completed is not None:
            asked[call.completed] = foreign.records[call.invoked]
    return asked


class PositionClock:
    """Times that increase with every operation, because only an operation's position matters."""

    def __init__(self) -> None:
        self._last_ns = -1

    def time_of(self, record: ForeignOperation) -> int:
        """The recorded time, or the earliest possible time after the last operation's."""
        self._last_ns = max(self._last_ns + 1, record.time_ns or 0)
        return self._last_ns


def operation_of(
    position: int,
    record: ForeignOperation,
    clock: PositionClock,
    *,
    f: str,
    key: object,
    value: object,
    kind: OperationType | None = None,
) -> Operation:
    """An operation at a position, from its record."""
    return Operation(
        index=position,
        time_ns=clock.time_of(record),
        process=record.process,
        type=record.type if kind is None else kind,
        f=f,
        key=key,
        value=value,
        error=record.error,
    )


def _check_transactions(foreign: Foreign) -> None:
    for position, record in enumerate(foreign.records):
        judged = record.type in {INVOKE, OK}
        if judged and record.process != NEMESIS and not is_list_of_micro_operations(record.value):
            raise foreign.place(position).error(
                "the value of a transaction is not a list of micro-operations", "[[f, key, value] …]"
            )


def _is_keyed(foreign: Foreign) -> bool:
    """Whether every invocation's value is a pair of key and value, or of key and pair for a cas."""
    return all(_has_key(foreign, call) for call in foreign.calls)


def _has_key(foreign: Foreign, call: OperationPositions) -> bool:
    """Whether a call has a key: its value is a pair, or of key and pair if the object's values are pairs."""
    begun = foreign.records[call.invoked]
    if begun.f == "cas":
        return _is_pair(begun.value) and _is_pair(begun.value[1])
    answer = None if call.completed is None else foreign.records[call.completed]
    if begun.f == "contains" and answer is not None and answer.type is OK:
        return _is_pair(answer.value) and _is_pair(answer.value[1])
    return _is_pair(begun.value)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == _PAIR


def _split(foreign: Foreign, position: int, value: Any, asked: ForeignOperation) -> tuple[object, object]:
    if not _is_pair(value) or value[0] != asked.value[0]:
        raise foreign.place(position).error(
            f"completes {asked.f} with another key than it was invoked with", "[key, value] with the same key"
        )
    return value[0], value[1]
