"""Converts JSON values to integers, at the speed of C if they are already integers or strings."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.columns.tables import NONE, Integers

_DENSE = 8
"""A lookup table is used if it needs at most this many cells for each row."""
_LARGEST = 2**62


class Coded(NamedTuple):
    """Values as integers.

    Attributes:
        codes: shape (n,), number of each value, in the order of first appearance.
        names: the value of each number.
    """

    codes: Integers
    names: tuple[object, ...]


def coded(values: Sequence[object]) -> Coded:
    """Number the distinct values; ``1``, ``1.0``, ``true`` and ``"1"`` are four different values."""
    keys = _hashable(values)
    distinct = dict.fromkeys(keys)
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    codes = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(values))
    if keys is values:
        return Coded(codes, tuple(distinct))
    names = dict(zip(reversed(keys), reversed(values), strict=True))
    return Coded(codes, tuple(names[key] for key in distinct))


def plain_integers(values: Sequence[object]) -> Integers | None:
    """The values themselves if all are integers of 64 bits, otherwise None."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        return np.fromiter(values, np.int64, len(values))
    except OverflowError:
        return None


def integers_of(one: Sequence[object], other: Sequence[object]) -> tuple[Integers, Integers]:
    """Two sequences as integers, which are equal if and only if the values are."""
    plain = plain_integers(one), plain_integers(other)
    if plain[0] is not None and plain[1] is not None:
        return plain[0], plain[1]
    codes = coded([*one, *other]).codes
    return codes[: len(one)], codes[len(one) :]


def _hashable(values: Sequence[object]) -> Sequence[Hashable]:
    types = set(map(type, values))
    if types <= {int, str, type(None)}:
        return values
    return [frozen(value) for value in values]


def frozen(value: object) -> Hashable:
    """A hashable value that is equal for values of the same type and content."""
    if value is None or type(value) in {int, str}:
        return value
    return (type(value).__name__, repr(value))


class Index:
    """Finds the row of a pair of a group and a value.

    Args:
        group: shape (n,), from 0.
        value: shape (n,).
    """

    def __init__(self, group: Integers, value: Integers) -> None:
        self._low = int(value.min(initial=0))
        self._span = int(value.max(initial=0)) - self._low + 1
        self._value: Integers | None = None
        groups = int(group.max(initial=0)) + 1
        if groups * self._span >= _LARGEST:
            self._value, value = np.unique(value, return_inverse=True)
            self._low, self._span = 0, len(self._value)
        self._groups = groups
        codes = group * self._span + (value - self._low)
        self._table: NDArray[np.int32] | None = None
        self._codes = self._order = np.zeros(0, dtype=np.int64)
        if groups * self._span <= _DENSE * len(codes):
            self._table = np.full(groups * self._span, NONE, dtype=np.int32)
            # In reverse order, so that the first of equal rows is kept.
            self._table[codes[::-1]] = np.arange(len(codes), dtype=np.int32)[::-1]
            self.repeated = np.flatnonzero(self._table[codes] != np.arange(len(codes)))
        else:
            self._order = np.argsort(codes, kind="stable")
            self._codes = codes[self._order]
            self.repeated = np.sort(self._order[1:][self._codes[1:] == self._codes[:-1]])

    def find(self, group: Integers, value: Integers) -> Integers:
        """Row of each pair, the first of equal ones; `NONE` if there is none."""
        if self._value is not None:
            place = np.minimum(np.searchsorted(self._value, value), max(0, len(self._value) - 1))
            fits = self._value[place] == value
            value = place
        else:
            # Compared before anything is subtracted, because a subtraction might exceed 64 bits.
            fits = (value >= self._low) & (value <= self._low + self._span - 1)
        fits &= group < self._groups
        codes = np.where(fits, group, 0) * self._span + (np.where(fits, value, self._low) - self._low)
        if self._table is not None:
            return np.where(fits, self._table[codes], NONE)
        if not len(self._codes):
            return np.full(len(group), NONE, dtype=np.int64)
        place = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        return np.where(fits & (self._codes[place] == codes), self._order[place], NONE)
