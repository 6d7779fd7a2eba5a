"""Register operations as columns: one row for each possible write and each read that returned."""

from dataclasses import dataclass

from checkers.columns.tables import Booleans, Integers

SHIFT = 2
"""Stamp of the history's first operation.

The initial value is written before it: this write begins at 0 and ends at 1.
"""


@dataclass(frozen=True, slots=True)
class Rows:
    """Operations, one row each, in any order.

    A stamp is a position in real time: the index in the history of an invocation or a completion, plus
    `SHIFT`. Two events never have the same stamp, except events before the history.

    Attributes:
        key: code of the register.
        value: code of the value written or returned; equal values have equal codes.
        write: whether it is a write.
        start: stamp of the invocation.
        finish: stamp of the completion; the horizon for a write with an unknown outcome.
        horizon: a stamp above all others, for the end of operations that never ended.
    """

    key: Integers
    value: Integers
    write: Booleans
    start: Integers
    finish: Integers
    horizon: int


@dataclass(frozen=True, slots=True)
class Registers:
    """All registers of a history.

    Attributes:
        keys: names by code, in the order of their first appearance.
        rows: writes that were acknowledged or have an unknown outcome, reads that returned, and for each
            register whose initial value was read, a write of that value before the history.
        failed: writes that certainly did not happen.
        swapped: codes of registers that compare-and-set operations change; zones do not decide them.
        operations: number of operations that began.
    """

    keys: tuple[object, ...]
    rows: Rows
    failed: Rows
    swapped: tuple[int, ...]
    operations: int
