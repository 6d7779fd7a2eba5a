"""What operations of the load requested and got, whichever of their forms a history uses."""

from typing import Any, NamedTuple

from checkers.history.operations import Operation, OperationType

_ANSWERED = len(("partition", "value", "offset", "outcome"))
LOADS = ("send", "txn", "write")
"""Functions that write to the cluster; the load's latencies are those of their operations."""


class RecordsOutcome(NamedTuple):
    """Outcomes of an operation's records.

    Attributes:
        outcomes: records by outcome: ``ok``, ``fail`` or ``info``; those not recorded are left out.
        acks: topic, partition and number of records that were acknowledged.
    """

    outcomes: dict[str, int]
    acks: list[tuple[str, int, int]]


def requested_records(operation: Operation) -> int:
    """How many records an invocation sends; none where it writes to a register."""
    if operation.f == "write":
        return 0
    if operation.f == "txn":
        return sum(mop[0] == "send" for mop in operation.value["mops"])
    return int(operation.value["count"]) if isinstance(operation.value, dict) else len(operation.value)


def answer(operation: Operation) -> RecordsOutcome:
    """What a completion reports about its records."""
    value = operation.value
    if operation.f == "write":
        return RecordsOutcome({}, [])
    if operation.f == "txn":
        return _of_transaction(operation)
    if isinstance(value, dict):
        count = int(value["count"]) if "offsets" in value else 0
        acks = [(operation.key, int(value["partition"]), count)] if count else []
        return RecordsOutcome({"ok": count} if count else {}, acks)
    return _of_batch(operation.key, [entry for entry in value or () if len(entry) >= _ANSWERED])


def _of_transaction(operation: Operation) -> RecordsOutcome:
    """A transaction's records share its outcome, whatever answers they got."""
    sends = [mop for mop in operation.value["mops"] if mop[0] == "send"]
    committed = operation.type is OperationType.OK
    acks = [(mop[1], mop[2], 1) for mop in sends] if committed else []
    return RecordsOutcome({operation.type.value: len(sends)}, acks)


def _of_batch(topic: str, entries: list[Any]) -> RecordsOutcome:
    outcomes: dict[str, int] = {}
    for entry in entries:
        outcomes[entry[3]] = outcomes.get(entry[3], 0) + 1
    return RecordsOutcome(outcomes, [(topic, entry[0], 1) for entry in entries if entry[3] == "ok"])
