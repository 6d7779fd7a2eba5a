"""Counts what the load got acknowledged, so that a run can wait for traffic instead of for time."""

import threading
import time
from collections import Counter

from checkers.history.operations import Operation, OperationType
from checkers.history.sends import AnsweredRun
from checkers.history.transactions import TxnEnded, TxnSendRequested
from harness.record.events import Event, Recorded, RecordsAcknowledged, StaticMemberSeen
from harness.record.static_members import StaticMembers


class AcknowledgedCounter:
    """A listener that counts acknowledged records; safe to share between threads.

    Attributes:
        members: the static members of groups that are away.
    """

    def __init__(self) -> None:
        self.members = StaticMembers()
        self._changed = threading.Condition()
        self._acked = 0
        self._removed = 0
        self._deleted: Counter[tuple[str, int]] = Counter()

    @property
    def acked(self) -> int:
        """Records acknowledged so far."""
        with self._changed:
            return self._acked

    @property
    def removed(self) -> int:
        """Number of topics whose removal has been acknowledged."""
        with self._changed:
            return self._removed

    def deleted(self, where: tuple[str, int] | None) -> int:
        """Number of acknowledged deletions of records of a partition, given its topic and number."""
        with self._changed:
            return 0 if where is None else self._deleted[where]

    def hear(self, event: Event) -> None:
        """Count the records that a completed operation acknowledged."""
        match event:
            case Recorded(Operation(f="delete-topic", type=OperationType.OK)):
                with self._changed:
                    self._removed += 1
                return
            case Recorded(Operation(f="delete-records", type=OperationType.OK, key=topic, value=below)):
                with self._changed:
                    self._deleted.update((str(topic), partition) for partition, _ in below)
                return
            case StaticMemberSeen():
                self.members.hear(event)
                return
            case Recorded(written) if written.f in _ACKNOWLEDGED:
                acked = _acknowledged(written)
            case RecordsAcknowledged(records):
                acked = records
            case _:
                return
        if not acked:
            return
        with self._changed:
            self._acked += acked
            self._changed.notify_all()

    def await_more(self, records: int, bound_s: float, cancelled: threading.Event) -> bool:
        """Wait until this many more records are acknowledged; returns whether that was within the bound."""
        deadline = time.monotonic() + bound_s
        with self._changed:
            wanted = self._acked + records
            while self._acked < wanted and time.monotonic() < deadline and not cancelled.is_set():
                self._changed.wait(0.1)
            return self._acked >= wanted


_ACKNOWLEDGED = frozenset({"send", "txn", "write"})
"""Functions of operations that acknowledge records or writes."""


def _acknowledged(written: Operation) -> int:
    """The number of records or writes that a completion acknowledges."""
    if written.type is OperationType.INVOKE:
        return 0
    match written.f, written.value:
        case "send", list(records):
            return sum(1 for record in records if record[-1] == OperationType.OK)
        case "send", AnsweredRun(count=count):
            return count
        case "txn", TxnEnded(mops=mops) if written.type is OperationType.OK:
            return sum(1 for mop in mops if isinstance(mop, TxnSendRequested))
        case "write", _:
            return int(written.type is OperationType.OK)
        case _:
            return 0
