"""Texts about acknowledgements, reads and final reads of one partition."""

from typing import NamedTuple

from checkers.columns.tables import NONE, PartitionName
from checkers.history.units import NS_PER_S
from checkers.logs.log.partition import FinalView, PartitionLog


def seconds(time_ns: int) -> str:
    """A time in seconds since the run began."""
    return f"{time_ns / NS_PER_S:.3f} s"


class Fact(NamedTuple):
    """An operation, and a text about it."""

    operation: int
    text: str


class LogTexts:
    """Returns texts about one partition's rows."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._columns = log.columns

    @property
    def name(self) -> PartitionName:
        """Name of the partition."""
        return self._log.name

    def subject(self, offset: int) -> str:
        """An offset in the log, or the log itself if the offset is unknown."""
        return str(self.name) if offset == NONE else f"{self.name}@{offset}"

    def value_of(self, claim: int) -> object:
        """The value of a claim."""
        return self._columns.value_named(int(self._log.claims.value[claim]))

    def offset_of(self, claim: int) -> int:
        """The offset of a claim."""
        return int(self._log.claims.offset[claim])

    def claim(self, claim: int) -> Fact:
        """The earliest operation that made a claim, and a text about it."""
        claims = self._log.claims
        ack, read = int(claims.ack[claim]), int(claims.read[claim])
        if ack != NONE and int(self._columns.sends.completed_ns[ack]) == int(claims.known_ns[claim]):
            return self.acknowledgement(ack)
        return self.returned(read)

    def acknowledgement(self, row: int) -> Fact:
        """The operation that acknowledged a send, and a text about it."""
        sends = self._columns.sends
        op = int(sends.complete_op[row])
        value = self._columns.value_named(int(sends.value[row]))
        where = self.subject(int(sends.offset[row]))
        when = seconds(int(sends.completed_ns[row]))
        return Fact(op, f"operation {op} ({when}): the send of {value!r} was acknowledged at {where}.")

    def invocation(self, row: int) -> Fact:
        """The operation that started a send, and a text about it."""
        sends = self._columns.sends
        op = int(sends.invoke_op[row])
        value = self._columns.value_named(int(sends.value[row]))
        when = seconds(int(sends.invoked_ns[row]))
        return Fact(op, f"operation {op} ({when}): the send of {value!r} to {self.name} began.")

    def failure(self, row: int) -> Fact:
        """The operation by which a send failed, and a text about it."""
        sends = self._columns.sends
        op = int(sends.complete_op[row])
        value = self._columns.value_named(int(sends.value[row]))
        when = seconds(int(sends.completed_ns[row]))
        return Fact(op, f"operation {op} ({when}): the send of {value!r} failed, nothing was appended.")

    def abort(self, row: int) -> Fact:
        """The operation by which the transaction of a send was aborted, and a text about it."""
        sends = self._columns.sends
        op = int(sends.complete_op[row])
        value = self._columns.value_named(int(sends.value[row]))
        when = seconds(int(sends.completed_ns[row]))
        return Fact(op, f"operation {op} ({when}): the transaction that sent {value!r} was aborted.")

    def returned(self, row: int) -> Fact:
        """The operation that returned a record, and a text about it."""
        reads = self._columns.reads
        op, who = self._call(int(reads.call[row]))
        value = self._columns.value_named(int(reads.value[row]))
        return Fact(op, f"{who} returned {value!r} at {self.subject(int(reads.offset[row]))}.")

    def assignment(self, row: int) -> Fact:
        """The operation that assigned a starting offset to a consumer, and a text about it."""
        op = int(self._columns.assigns.op[row])
        where = self.subject(int(self._columns.assigns.offset[row]))
        return Fact(op, f"operation {op}: the consumer was assigned the start position {where}.")

    def final(self, view: FinalView) -> Fact:
        """A final read, and a text about its range."""
        op, who = self._call(view.call)
        end = "the end" if view.whole else "short of the end"
        return Fact(op, f"{who} read {self.name} from {view.start} to {view.position}, {end}.")

    def _call(self, call: int) -> Fact:
        calls = self._columns.calls
        op = int(calls.op[call])
        kind = "the final read" if calls.final[call] else "a poll"
        reader = self._columns.readers[int(calls.reader[call])]
        return Fact(op, f"operation {op} ({seconds(int(calls.completed_ns[call]))}): {kind} by {reader}")


def split_facts(*facts: Fact) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Split facts into the operations, distinct and ascending, and the sentences in the given order."""
    return tuple(sorted({fact.operation for fact in facts})), tuple(fact.text for fact in facts)
