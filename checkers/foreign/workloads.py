"""The workload of an imported history, which is inferred from its operations or given by the caller."""

from collections.abc import Collection
from enum import StrEnum

from checkers.foreign.records import Foreign
from checkers.history.operations import OK
from checkers.history.reading import HistoryError


class ForeignWorkload(StrEnum):
    """The meaning of a history's operations."""

    LIST_APPEND = "list-append"
    RW_REGISTER = "rw-register"
    REGISTER = "register"
    CAS_REGISTER = "cas-register"
    MULTI_REGISTER = "multi-register"
    MUTEX = "mutex"
    SET = "set"
    FIFO_QUEUE = "fifo-queue"
    KAFKA = "kafka"


TRANSACTIONS = frozenset({ForeignWorkload.LIST_APPEND, ForeignWorkload.RW_REGISTER})
"""Workloads whose model is a consistency model; the model of other workloads is an object."""

_FUNCTIONS = {
    ForeignWorkload.KAFKA: {"send", "poll", "txn", "assign", "subscribe", "crash", "debug-topic-partitions"},
    ForeignWorkload.REGISTER: {"read", "write"},
    ForeignWorkload.CAS_REGISTER: {"read", "write", "cas"},
    ForeignWorkload.MUTEX: {"acquire", "release"},
    ForeignWorkload.SET: {"add", "read", "contains"},
    ForeignWorkload.FIFO_QUEUE: {"enqueue", "dequeue"},
}
_MICRO_OPERATIONS = {
    ForeignWorkload.KAFKA: {"send", "poll"},
    ForeignWorkload.LIST_APPEND: {"append", "r"},
    ForeignWorkload.RW_REGISTER: {"r", "w"},
    ForeignWorkload.MULTI_REGISTER: {"read", "write"},
}
_OF_KAFKA = {"send", "poll", "assign", "subscribe", "crash", "debug-topic-partitions"}


def workload_of(foreign: Foreign) -> ForeignWorkload:
    """Infer the meaning of a history's operations.

    Raises:
        HistoryError: they fit no workload.
    """
    functions = foreign.functions
    begun = [foreign.records[call.invoked] for call in foreign.calls]
    if functions <= _FUNCTIONS[ForeignWorkload.KAFKA] and functions & _OF_KAFKA:
        return ForeignWorkload.KAFKA
    if all(is_list_of_micro_operations(record.value) for record in begun):
        words = frozenset(part[0] for record in begun for part in record.value)
        found = [workload for workload, known in _MICRO_OPERATIONS.items() if words and words <= known]
        if words == frozenset({"r"}) and not _read_lists(foreign):
            return ForeignWorkload.RW_REGISTER
    else:
        words = frozenset()
        found = [
            w for w, known in _FUNCTIONS.items() if functions <= known and w is not ForeignWorkload.KAFKA
        ]
    if not found:
        raise HistoryError(
            f"no workload has the operations {_listed(functions)} of {_listed(words)}",
            expected=f"one of {', '.join(ForeignWorkload)}",
            place=foreign.file,
            next_step="give the workload with --workload",
        )
    return found[0]


def functions_of(workload: ForeignWorkload) -> frozenset[str]:
    """All functions of a workload; empty if an operation may have any name."""
    return frozenset(_FUNCTIONS.get(workload, ()))


def is_list_of_micro_operations(value: object) -> bool:
    """Whether a value is a list of lists that each begin with a string."""
    return isinstance(value, list) and all(map(_is_micro_operation, value))


def _is_micro_operation(part: object) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], str)


def _read_lists(foreign: Foreign) -> bool:
    """Whether every read returned a list."""
    values = (record.value for record in foreign.records if record.type is OK)
    parts = (part for value in values if is_list_of_micro_operations(value) for part in value)
    return all(part[-1] is None or isinstance(part[-1], list) for part in parts)


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
