"""The operations of each transaction, grouped by key."""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.transactional.transactions.operations.loading import MicroOperations


class Touches(NamedTuple):
    """Micro-operations by transaction and key.

    Attributes:
        order: rows of `MicroOperations`, by transaction, key and place.
        first: shape of `order`, whether it is the first of its transaction and key.
    """

    order: Integers
    first: Booleans

    def updates(self, operations: MicroOperations, committed: Booleans) -> Integers:
        """Rows of reads that are the first access of their transaction to the key, if a write follows.

        Args:
            operations: the micro-operations.
            committed: by transaction, whether it certainly committed.
        """
        group = np.cumsum(self.first) - 1
        opening = self.order[self.first]
        writes = operations.write[self.order]
        written = np.bincount(group[writes], minlength=len(opening)) > 0
        wanted = written & ~operations.write[opening] & committed[operations.transaction[opening]]
        return opening[wanted]

    def before_reads(self, operations: MicroOperations) -> Booleans:
        """Which rows of `order` are not first of their transaction and key, and are or precede a read."""
        group = np.cumsum(self.first) - 1
        last_read = np.full(int(self.first.sum()), NONE, dtype=np.int64)
        rows = np.flatnonzero(~operations.write[self.order])
        last_read[group[rows]] = rows
        due: Booleans = ~self.first & (np.arange(len(group)) <= last_read[group])
        return due


def touches_of(operations: MicroOperations) -> Touches:
    """Order micro-operations by transaction and key."""
    codes = operations.transaction * len(operations.keys) + operations.key
    order = np.argsort(codes, kind="stable")
    first = np.ones(len(codes), dtype=np.bool_)
    first[1:] = codes[order][1:] != codes[order][:-1]
    return Touches(order, first)
