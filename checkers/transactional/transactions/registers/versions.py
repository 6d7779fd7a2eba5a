"""Registers that are written as a whole, with one version for each value that was written."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.transactional.transactions.operations.coding import Index, coded, frozen
from checkers.transactional.transactions.operations.loading import (
    MicroOperations,
    Transactions,
    UnreadableError,
)
from checkers.transactional.transactions.operations.touches import Touches, touches_of

UNCLEAR = -2
"""No version, because several transactions wrote that value to that key."""


@dataclass(frozen=True, slots=True)
class RegisterTransactions:
    """An rw-register history in columns.

    A version below the number of micro-operations is the row of its write.  Higher numbers are the initial
    versions, one for each key.

    Attributes:
        transactions: its transactions.
        operations: its micro-operations.
        touches: the micro-operations by transaction and key.
        version: shape (micro-operations,), the version that each wrote or read; `NONE` for a value that was
            never written.
        final: shape (micro-operations,), whether it is a write, the last of its transaction to its key.
        taking_part: shape (transactions,), whether each certainly committed.
        begins: initial value of each key.
    """

    transactions: Transactions
    operations: MicroOperations
    touches: Touches
    version: Integers
    final: Booleans
    taking_part: Booleans
    begins: tuple[object, ...]

    @property
    def initial(self) -> int:
        """The first of the initial versions."""
        return len(self.operations.key)

    @property
    def ok(self) -> Booleans:
        """Whether the completion of each transaction shows that it committed; shape (transactions,)."""
        ok: Booleans = self.transactions.outcome == SendOutcome.OK
        return ok

    def writer(self, version: Integers) -> Integers:
        """Transactions that wrote versions; `NONE` for initial and unknown versions."""
        written = (version >= 0) & (version < self.initial)
        return np.where(written, self.operations.transaction[np.where(written, version, 0)], NONE)

    def good_reads(self) -> Integers:
        """Rows of reads of an initial version, or of a version whose writer committed."""
        writer = self.writer(self.version)
        good = (self.version >= self.initial) | ((writer != NONE) & self.taking_part[writer])
        return np.flatnonzero(~self.operations.write & good)

    def value(self, row: int) -> object:
        """The value that a micro-operation wrote or read."""
        return self.operations.arguments[row]

    def key_of(self, row: int) -> object:
        """The key of a micro-operation."""
        return self.operations.keys[int(self.operations.key[row])]


def registers_of(
    transactions: Transactions, operations: MicroOperations, begin: object = None
) -> RegisterTransactions:
    """Find the version that each micro-operation wrote or read.

    Args:
        transactions: the transactions.
        operations: their micro-operations.
        begin: initial value of every register; or a map from keys to initial values, null for others.

    Raises:
        UnreadableError: null is written, so that a read of null does not show the initial state.
    """
    begins = _begins(operations.keys, begin)
    value = coded([*operations.arguments, *begins])
    codes, initial = np.split(value.codes, [len(operations.arguments)])
    nil = value.names.index(None) if None in value.names else NONE
    if (operations.write & (codes == nil)).any():
        raise UnreadableError("null, which is the initial state, is written")
    version = _versions(operations, codes, initial)
    touches = touches_of(operations)
    return RegisterTransactions(
        transactions,
        operations,
        touches,
        version,
        _final(operations, touches),
        _taking_part(transactions, operations, version),
        begins,
    )


def _begins(keys: tuple[object, ...], begin: object) -> tuple[object, ...]:
    if not isinstance(begin, Mapping):
        return (begin,) * len(keys)
    values = {frozen(key): value for key, value in begin.items()}
    return tuple(values.get(frozen(key)) for key in keys)


def _versions(operations: MicroOperations, codes: Integers, initial: Integers) -> Integers:
    """The version of each micro-operation: a row, an initial version, `NONE` or `UNCLEAR`."""
    write, key = operations.write, operations.key
    writes = np.flatnonzero(write)
    index = Index(key[writes], codes[writes])
    place = index.find(key, codes)
    found = np.where(place == NONE, NONE, writes[place] if len(writes) else NONE)
    empty = codes == initial[key]
    repeated = np.zeros(len(found), dtype=np.bool_)
    repeated[writes[index.repeated]] = True
    repeated[found[repeated]] = True
    # A transaction that writes the initial value can't be distinguished from one that leaves it unchanged.
    repeated |= write & empty
    version = np.where((found != NONE) & repeated[found], UNCLEAR, found)
    return np.where(empty & (found == NONE), len(found) + key, version)


def _final(operations: MicroOperations, touches: Touches) -> Booleans:
    """Whether each is the last write of its transaction to its key."""
    rows = touches.order[operations.write[touches.order]]
    codes = operations.transaction[rows] * len(operations.keys) + operations.key[rows]
    last = np.ones(len(rows), dtype=np.bool_)
    last[:-1] = codes[1:] != codes[:-1]
    final = np.zeros(len(operations.key), dtype=np.bool_)
    final[rows[last]] = True
    return final


def _taking_part(transactions: Transactions, operations: MicroOperations, version: Integers) -> Booleans:
    """Transactions that completed with ok, or whose outcome is unknown but of which a write was read."""
    part: Booleans = transactions.outcome == SendOutcome.OK
    read = version[~operations.write]
    writers = operations.transaction[read[(read >= 0) & (read < len(version))]]
    part[writers[transactions.outcome[writers] == SendOutcome.INFO]] = True
    return part
