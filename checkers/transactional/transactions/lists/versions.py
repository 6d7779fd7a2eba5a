"""Lists that only grow: the order of each key's versions, from the transactions' appends and reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import eq, getitem

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.transactional.transactions.operations.coding import Index, frozen, integers_of
from checkers.transactional.transactions.operations.loading import (
    MicroOperations,
    Transactions,
    UnreadableError,
)

AMBIGUOUS = -2
"""No row, because several transactions appended the same element to the same key."""


@dataclass(frozen=True, slots=True)
class Appends:
    """Appends, one row each, in the order of transactions and, within one, of its micro-operations.

    Attributes:
        row: row of `MicroOperations`.
        transaction: the transaction that appended.
        key: code of the key.
        value: the element, or its code.
        final: whether it is the last append of its transaction to its key.
        place: its index in its key's order, `NONE` if no read shows it.
        clear: whether no other append has the same element and key.
    """

    row: Integers
    transaction: Integers
    key: Integers
    value: Integers
    final: Booleans
    place: Integers
    clear: Booleans


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of the longest read of each key, by key and position, which is the order of its versions.

    Attributes:
        key: code of the key.
        append: row of `Appends` that wrote it, `NONE` if there is none, `AMBIGUOUS` if there are several.
        good: whether its writer is known and did not fail, and it is the element's first occurrence.
        base: shape (keys + 1,), row of each key's first element.
        reader: shape (keys,), row of `ListReads` that is the longest, `NONE` if the key was never read.
    """

    key: Integers
    append: Integers
    good: Booleans
    base: Integers
    reader: Integers


@dataclass(frozen=True, slots=True)
class ListReads:
    """Reads of transactions that committed, one row each.

    Attributes:
        row: row of `MicroOperations`.
        transaction: the transaction that read.
        key: code of the key.
        length: number of elements.
        agrees: whether it is a prefix of its key's longest read.
    """

    row: Integers
    transaction: Integers
    key: Integers
    length: Integers
    agrees: Booleans


@dataclass(frozen=True, slots=True)
class Lists:
    """A list-append history in columns.

    Attributes:
        transactions: its transactions.
        operations: its micro-operations.
        appends: all appends.
        reads: all reads.
        elements: the order of versions.
        strays: the elements of reads that do not agree: row of `ListReads` and row of `Appends`, `NONE` or
            `AMBIGUOUS`.
    """

    transactions: Transactions
    operations: MicroOperations
    appends: Appends
    reads: ListReads
    elements: Elements
    strays: tuple[Integers, Integers]

    def contents(self, read: int) -> list[object]:
        """The list that a read returned."""
        return self.operations.arguments[int(self.reads.row[read])] or []

    def key_of(self, code: int) -> object:
        """A key by its code."""
        return self.operations.keys[code]

    def element(self, append: int) -> object:
        """The element of an append."""
        return self.operations.arguments[int(self.appends.row[append])]


def lists_of(transactions: Transactions, operations: MicroOperations) -> Lists:
    """Find the order of versions of every key.

    Raises:
        UnreadableError: a read returned a value that is not a list.
    """
    writes = np.flatnonzero(operations.write)
    rows = np.flatnonzero(~operations.write)
    contents = _contents(operations, rows)
    lengths = np.fromiter(map(len, contents), np.int64, len(contents))
    keys = operations.key[rows]
    longest = _longest(keys, lengths, len(operations.keys))
    known = [contents[row] if row != NONE else [] for row in longest.tolist()]
    appended = list(map(operations.arguments.__getitem__, writes.tolist()))
    agrees = _agreement(*_comparable(appended, contents, known), keys, lengths)
    reads = ListReads(rows, operations.transaction[rows], keys, lengths, agrees)
    apart = np.flatnonzero(~agrees)
    odd = list(chain.from_iterable(contents[row] for row in apart.tolist()))
    ordered = list(chain.from_iterable(known))
    value, seen = integers_of(appended, ordered + odd)
    index = Index(operations.key[writes], value)
    sizes = np.fromiter(map(len, known), np.int64, len(known))
    of = np.repeat(np.arange(len(known)), sizes)
    clear = np.ones(len(writes), dtype=np.bool_)
    clear[index.repeated] = False
    clear[index.find(operations.key[writes][index.repeated], value[index.repeated])] = False
    append = _cleared(index.find(of, seen[: len(ordered)]), clear)
    stray = np.repeat(apart, lengths[apart])
    base = np.concatenate(([0], np.cumsum(sizes)))
    good = append >= 0
    good[good] = transactions.outcome[operations.transaction[writes[append[good]]]] != SendOutcome.FAIL
    appends = _appends(operations, writes, (value, clear), (append, of, base))
    shown = np.flatnonzero(good)
    good[shown] = appends.place[append[shown]] == shown - base[of[shown]]
    return Lists(
        transactions,
        operations,
        appends,
        reads,
        Elements(of, append, good, base, longest),
        (stray, _cleared(index.find(keys[stray], seen[len(ordered) :]), clear)),
    )


def _contents(operations: MicroOperations, rows: Integers) -> list[list[object]]:
    contents = list(map(operations.arguments.__getitem__, rows.tolist()))
    types = set(map(type, contents))
    if types <= {list}:
        return contents
    if not types <= {list, tuple, type(None)}:
        odd = next(each for each in contents if not isinstance(each, list | tuple | None))
        raise UnreadableError(f"a read returned a value that is not a list: {repr(odd)[:200]}")
    return [list(each or ()) for each in contents]


def _longest(keys: Integers, lengths: Integers, count: int) -> Integers:
    """Row of the longest read of each key, the first of equal ones; `NONE` if there is none."""
    longest = np.full(count, NONE, dtype=np.int64)
    np.maximum.at(longest, keys, lengths)
    rows = np.flatnonzero(lengths == longest[keys])[::-1]
    first = np.full(count, NONE, dtype=np.int64)
    first[keys[rows]] = rows
    return first


def _comparable(
    appended: Sequence[object], contents: list[list[object]], known: list[list[object]]
) -> tuple[list[list[object]], list[list[object]]]:
    """The lists in a form in which Python compares elements correctly: 1 is not true, and NaN equals NaN."""
    if set(map(type, appended)) <= {int, str}:
        return contents, known
    return [list(map(frozen, each)) for each in contents], [list(map(frozen, each)) for each in known]


def _agreement(
    contents: Sequence[list[object]], known: list[list[object]], keys: Integers, lengths: Integers
) -> Booleans:
    """Whether each read is a prefix of its key's longest read, with one comparison of lists each."""
    beginnings = map(getitem, map(known.__getitem__, keys.tolist()), map(slice, lengths.tolist()))
    return np.fromiter(map(eq, contents, beginnings), np.bool_, len(contents))


def _cleared(append: Integers, clear: Booleans) -> Integers:
    """Rows of appends, `AMBIGUOUS` for those that are not clear."""
    known = append != NONE
    append[known] = np.where(clear[append[known]], append[known], AMBIGUOUS)
    return append


def _appends(
    operations: MicroOperations,
    rows: Integers,
    what: tuple[Integers, Booleans],
    order: tuple[Integers, Integers, Integers],
) -> Appends:
    append, of, base = order
    transaction, key = operations.transaction[rows], operations.key[rows]
    place = np.full(len(rows), NONE, dtype=np.int64)
    # Backwards, so that an element that occurs twice gets its first index.
    shown = np.flatnonzero(append >= 0)[::-1]
    place[append[shown]] = shown - base[of[shown]]
    return Appends(rows, transaction, key, what[0], is_last(transaction, key), place, what[1])


def is_last(transaction: Integers, key: Integers) -> Booleans:
    """Whether each row is the last with its transaction and key; rows are in the order of transactions."""
    last = np.ones(len(key), dtype=np.bool_)
    codes = transaction * (int(key.max(initial=0)) + 1) + key
    order = np.argsort(codes, kind="stable")
    last[order[:-1]] = codes[order][1:] != codes[order][:-1]
    return last
