"""Computes over many groups of rows at once, by one sort or one accumulation."""

from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NEVER, Booleans, Integers


def group_of(*keys: Integers) -> Integers:
    """Numbers of the groups of rows, from 0, where rows of equal keys lie side by side."""
    if not len(keys[0]):
        return keys[0]
    new = np.zeros(len(keys[0]), dtype=np.bool_)
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.cumsum(new)


def later_minimum(times_ns: Integers, group: Integers) -> Integers:
    """Least of the times that come after each row in its group, `NEVER` where none does.

    Ranks of the times, raised by a whole turn for every group, let one accumulation serve all groups.

    Args:
        times_ns: shape (n,).
        group: shape (n,), ascending from 0.
    """
    if not len(times_ns):
        return times_ns
    times, rank = np.unique(times_ns, return_inverse=True)
    turn = len(times) + 1
    raised = np.minimum.accumulate((rank + group * turn)[::-1])[::-1]
    after = np.append(raised[1:], (group[-1] + 2) * turn) - group * turn
    least: Integers = np.append(times, NEVER)[np.minimum(after, len(times))]
    return least


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows of a column by the code that they have.

    Attributes:
        rows: all rows, ordered by code, ascending within each.
        ends: shape (codes + 1,), where in `rows` each code's rows begin; its last element is their number.
    """

    rows: Integers
    ends: Integers

    def of(self, code: int) -> Integers:
        """Rows of a code, ascending."""
        return self.rows[self.ends[code] : self.ends[code + 1]]

    @property
    def counts(self) -> Integers:
        """How many rows each code has."""
        return np.diff(self.ends)

    def chosen(self, low: int, codes: Booleans) -> Integers:
        """Rows of those codes from `low` on that are chosen, ordered by code, ascending within each."""
        ends = self.ends[low : low + len(codes) + 1]
        return self.rows[ends[0] : ends[-1]][np.repeat(codes, np.diff(ends))]


def grouped(codes: Integers, count: int) -> Grouped:
    """Order rows by their codes, which are below `count`; small codes are sorted by radix."""
    order = np.argsort(codes.astype(np.min_scalar_type(count)), kind="stable")
    return Grouped(order, np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=count)))))
