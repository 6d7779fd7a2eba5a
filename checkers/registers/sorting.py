"""Sorts columns by integer codes, in almost linear time.

Columns that do not fit the cache are slow to sort and slower to gather, because each row is fetched from a
random position in memory.  So rows are first split block by block, by ranges of codes, and then sorted range
by range.  Each reordered unit, a block or a *part*, fits the cache.  If most codes are in few of the ranges,
parts are large, which only costs time.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Integers

Columns = tuple[Integers, ...]
"""Columns of equal length; the first one has the codes, from 0."""

BLOCK = 2**16
"""Number of rows that are split at once."""
PART = 2**14
"""The least number of rows for which a separate part is faster."""
PARTS_MAX = 64
"""The largest number of parts that is fast; `_split` supports at most 256."""


class _Split(NamedTuple):
    """A block whose rows are ordered by parts, with the start and end of each part."""

    columns: Columns
    edges: list[int]


def blocks_of(rows: int) -> Iterator[slice]:
    """Slices of all rows in order, in the size that is best split at once."""
    return (slice(begin, min(begin + BLOCK, rows)) for begin in range(0, rows, BLOCK))


def in_parts(blocks: Iterable[Columns], *, rows_max: int, codes: int) -> Iterator[Columns]:
    """Sort rows by their codes, equal codes in the order of arrival, and yield them part by part.

    Rows of one code are in one part, and so are those of an even code and the next odd code.

    Args:
        blocks: the rows, split as `blocks_of` says; at least one block.
        rows_max: at least the number of rows, and at least one.
        codes: a number above every code; at most 2**63 - 2.
    """
    parts = min(PARTS_MAX, -(-rows_max // PART))
    width = 2 * -(-codes // (2 * parts))
    edges = np.arange(parts + 1)
    split = [_split(columns, width, edges) for columns in blocks]
    for part in range(parts):
        pieces = [
            [column[block.edges[part] : block.edges[part + 1]] for column in block.columns] for block in split
        ]
        code, *rest = map(np.concatenate, zip(*pieces, strict=True))
        if len(code):
            order, code = in_order(code)
            yield (code, *(column[order] for column in rest))


def in_order(code: Integers) -> tuple[Integers, Integers]:
    """The order of codes from 0, equal codes in the order of their rows; and the codes in that order.

    Codes and rows are packed into one integer of 64 bits if they fit, because NumPy sorts integers several
    times as fast as it finds their order.  At least one row is needed.
    """
    room, least = (len(code) - 1).bit_length(), int(code.min())
    if (int(code.max()) - least).bit_length() + room > np.iinfo(np.uint64).bits:
        order = np.argsort(code, kind="stable")
        return order, code[order]
    packed = (code - least).view(np.uint64)
    packed <<= np.uint64(room)
    packed |= np.arange(len(code), dtype=np.uint64)
    packed.sort()
    row = packed & np.uint64((1 << room) - 1)
    packed >>= np.uint64(room)
    return row.view(np.int64), packed.view(np.int64) + least


def _split(columns: Columns, width: int, edges: Integers) -> _Split:
    # NumPy sorts 8 bits by radix sort, several times as fast as 64 bits.
    part = (columns[0] // width).astype(np.uint8)
    order = np.argsort(part, kind="stable")
    return _Split(tuple(column[order] for column in columns), np.searchsorted(part[order], edges).tolist())
