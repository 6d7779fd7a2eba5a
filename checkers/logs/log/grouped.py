"""Computations over many groups of rows at once, by one sort or one accumulation."""

from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NEVER, Booleans, Integers


def group_of(*keys: Integers) -> Integers:
    """Number the groups of rows from 0; rows with equal keys must be adjacent."""
    if not len(keys[0]):
        return keys[0]
    new = np.zeros(len(keys[0]), dtype=np.bool_)
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.cumsum(new)


def later_minimum(times_ns: Integers, group: Integers) -> Integers:
    """The least of the times after each row in its group; `NEVER` if there is none.

    The ranks of the times are shifted by a constant for each group, so that one accumulation covers all
    groups.

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
    """Rows of a column, grouped by their code.

    Attributes:
        rows: all rows, ordered by code, ascending within each.
        ends: shape (codes + 1,), the index in `rows` where each code's rows begin; the last element is the
            number of rows.
    """

    rows: Integers
    ends: Integers

    def of(self, code: int) -> Integers:
        """Return the rows of a code, ascending."""
        return self.rows[self.ends[code] : self.ends[code + 1]]

    @property
    def counts(self) -> Integers:
        """Number of rows of each code."""
        return np.diff(self.ends)

    def chosen(self, low: int, codes: Booleans) -> Integers:
        """Rows of the chosen codes, numbered from `low` on, ordered by code, ascending within each."""
        ends = self.ends[low : low + len(codes) + 1]
        return self.rows[ends[0] : ends[-1]][np.repeat(codes, np.diff(ends))]


def grouped(codes: Integers, count: int) -> Grouped:
    """Order rows by their codes, which are below `count`.

    Small codes are sorted by radix sort.
    """
    order = np.argsort(codes.astype(np.min_scalar_type(count)), kind="stable")
    return Grouped(order, np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=count)))))
