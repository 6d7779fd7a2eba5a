"""Texts about operations on registers."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.history.operations import Operation
from checkers.history.units import NS_PER_S
from checkers.registers.columns import SHIFT, Registers, Rows
from checkers.registers.zones import Zones

NOWHERE = -1
"""Index of events before the history."""

_LENGTH_MAX = 80

Fact = tuple[int, str]
"""The index in the history of an operation, and the sentence that it proves."""


def shown(value: object) -> str:
    """A key or a value as text, shortened if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LENGTH_MAX else f"{text[:_LENGTH_MAX]}… ({len(text)} characters)"


@dataclass(frozen=True, slots=True)
class RegisterTexts:
    """Returns texts about the operations of a history.

    Attributes:
        operations: operations of the history.
        registers: its registers.
        zones: clusters of their rows.
        initial: initial value of every register.
    """

    operations: Sequence[Operation]
    registers: Registers
    zones: Zones
    initial: object

    def key(self, key: int) -> str:
        """The name of a register, by its index in `Registers.keys`."""
        name = self.registers.keys[key]
        return name if isinstance(name, str) else "the register" if name is None else shown(name)

    def subject(self, zone: int) -> str:
        """The register of a cluster."""
        return self.key(int(self.zones.key[zone]))

    def value(self, zone: int) -> str:
        """The value of a cluster."""
        return self._value(self.registers.rows, int(self.zones.rows_of(zone)[0]))

    def first_to_end(self, zone: int) -> Fact:
        """The operation of a cluster that ended first."""
        rows = self.zones.rows_of(zone)
        return self.ended(int(rows[np.argmin(self.registers.rows.finish[rows])]))

    def last_to_begin(self, zone: int) -> Fact:
        """The operation of a cluster that began last."""
        rows = self.zones.rows_of(zone)
        return self.began(int(rows[np.argmax(self.registers.rows.start[rows])]))

    def write_of(self, zone: int) -> int:
        """The row of a cluster's only write."""
        rows = self.zones.rows_of(zone)
        return int(rows[np.argmax(self.registers.rows.write[rows])])

    def began(self, row: int) -> Fact:
        """The invocation of an operation."""
        return self._fact(self.registers.rows, row, int(self.registers.rows.start[row]), "began")

    def ended(self, row: int) -> Fact:
        """The completion of an operation."""
        return self._fact(self.registers.rows, row, int(self.registers.rows.finish[row]), "ended")

    def failed(self, row: int) -> Fact:
        """The invocation of a write that failed."""
        rows = self.registers.failed
        return self._fact(rows, row, int(rows.start[row]), "began, and certainly did not take effect")

    def _fact(self, rows: Rows, row: int, stamp: int, event: str) -> Fact:
        value = self._value(rows, row)
        if stamp < SHIFT:
            return NOWHERE, f"{self.key(int(rows.key[row]))} held {value} before the history."
        operation = self.operations[stamp - SHIFT]
        what = f"write of {value}" if rows.write[row] else f"read of {value}"
        when = f"{operation.time_ns / NS_PER_S:.3f} s"
        index = stamp - SHIFT
        return index, f"operation {index} ({when}): the {what} by process {operation.process} {event}."

    def _value(self, rows: Rows, row: int) -> str:
        if rows.start[row] < SHIFT:
            return shown(self.initial)
        stamp = int(rows.start[row] if rows.write[row] else rows.finish[row])
        return shown(self.operations[stamp - SHIFT].value)


def witness_of(facts: Iterable[Fact]) -> tuple[int, ...]:
    """The operations of facts, without those before the history."""
    return tuple(sorted({index for index, _ in facts if index != NOWHERE}))
