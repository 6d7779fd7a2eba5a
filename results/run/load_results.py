"""Requests and results of the load's operations, in all formats of histories."""

from typing import NamedTuple

from checkers.history.operations import Operation, OperationType

_ANSWERED = len(("partition", "value", "offset", "outcome"))
LOADS = ("send", "txn", "write")
"""Functions that write to the cluster; their operations give the latencies of the load."""


OUTCOMES = ("ok", "info", "fail")
"""Outcomes of calls, in the order of their codes."""


class AcknowledgedRecords(NamedTuple):
    """How many records of one partition were acknowledged."""

    topic: str
    partition: int
    number: int


class RecordsOutcome(NamedTuple):
    """Outcomes of an operation's records.

    Attributes:
        outcomes: number of records by outcome: ``ok``, ``fail`` or ``info``, if recorded.
        acks: the acknowledged records.
    """

    outcomes: dict[str, int]
    acks: list[AcknowledgedRecords]


class Deliveries:
    """Measures polls that return records.

    A poll without records has waited for its whole timeout, so it says nothing about the cluster.

    Attributes:
        rows: start (ns), duration (ns) and outcome (position in `OUTCOMES`) of each.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int]] = []
        self._begun: dict[int | str, int] = {}

    def take(self, operation: Operation, time_ns: int) -> None:
        """Add the start or the end of a poll.

        Args:
            operation: the poll.
            time_ns: its time, within the bounds of what is drawn.
        """
        if operation.type is OperationType.INVOKE:
            self._begun[operation.process] = time_ns
            return
        began_ns = self._begun.pop(operation.process, None)
        if began_ns is not None and operation.type is OperationType.OK and operation.value["records"]:
            self.rows.append((began_ns, time_ns - began_ns, OUTCOMES.index("ok")))


def requested_records(operation: Operation) -> int:
    """Number of records that an invocation sends; 0 for a write to a register, and for lists or registers."""
    if _has_no_records(operation):
        return 0
    if operation.f == "txn":
        return sum(mop[0] == "send" for mop in operation.value["mops"])
    return int(operation.value["count"]) if isinstance(operation.value, dict) else len(operation.value)


def answer(operation: Operation) -> RecordsOutcome:
    """The outcome of the records of a completion."""
    value = operation.value
    if _has_no_records(operation):
        return RecordsOutcome({}, [])
    if operation.f == "txn":
        return _of_transaction(operation)
    if isinstance(value, dict):
        count = int(value["count"]) if "offsets" in value else 0
        acks = [AcknowledgedRecords(operation.key, int(value["partition"]), count)] if count else []
        return RecordsOutcome({"ok": count} if count else {}, acks)
    return _of_batch(operation.key, [entry for entry in value or () if len(entry) >= _ANSWERED])


def _has_no_records(operation: Operation) -> bool:
    """Whether it is a write to a register, or a transaction over lists or registers of a foreign history."""
    return operation.f == "write" or (operation.f == "txn" and isinstance(operation.value, list))


def _of_transaction(operation: Operation) -> RecordsOutcome:
    """The records of a transaction have its outcome, regardless of the answers to them."""
    sends = [mop for mop in operation.value["mops"] if mop[0] == "send"]
    committed = operation.type is OperationType.OK
    acks = (
        [AcknowledgedRecords(topic, partition, 1) for _, topic, partition, *_ in sends] if committed else []
    )
    return RecordsOutcome({operation.type.value: len(sends)}, acks)


def _of_batch(topic: str, entries: list[tuple[int, object, int | None, str]]) -> RecordsOutcome:
    outcomes: dict[str, int] = {}
    acks = []
    for partition, _, _, outcome, *_ in entries:
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome == "ok":
            acks.append(AcknowledgedRecords(topic, partition, 1))
    return RecordsOutcome(outcomes, acks)
