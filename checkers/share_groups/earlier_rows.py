"""Compares rows with earlier rows of the same record, without a loop over records."""

import numpy as np

from checkers.columns.tables import NONE, Integers


def codes_of(*columns: Integers) -> Integers:
    """Number equal rows equally, from 0, and different rows differently.

    Args:
        columns: one or more, each of shape (n,).

    Returns:
        Shape (n,), ascending in the order of the rows, the first column compared first.
    """
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), np.bool_)
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(new)
    return found


def highest_before(
    of: Integers, at: Integers, height: Integers, asked: Integers, before: Integers
) -> Integers:
    """Find, for each query, the highest of the earlier rows with the same code.

    Args:
        of: shape (n,), codes of the rows, from 0.
        at: shape (n,), positions of the rows in the history.
        height: shape (n,), the heights that are compared; of equal ones, the last row counts.
        asked: shape (m,), codes of the queries.
        before: shape (m,), only rows at lower positions count.

    Returns:
        Shape (m,), indices of rows, `NONE` if there is none.
    """
    order = np.argsort(height, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    code = np.concatenate((of, asked))
    level = code * (len(order) + 1) + np.concatenate((rank, np.zeros(len(asked), np.int64)))
    # A query at the position of a row comes first, because that row is not before it.
    is_row = np.repeat(np.array([True, False]), (len(of), len(asked)))
    line = np.lexsort((is_row, np.concatenate((at, before)), code))
    best = np.empty(len(code), np.int64)
    best[line] = np.maximum.accumulate(level[line])
    found = (best - code * (len(order) + 1))[len(of) :]
    return np.where(found > 0, np.append(order, NONE)[found - 1], NONE)
