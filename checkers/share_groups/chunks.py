"""Collects records of share groups in chunks, such as those that a poll returned, without a row for each."""

from collections.abc import Sequence

import numpy as np

from checkers.columns.rows import transposed
from checkers.columns.tables import Integers


class Chunks:
    """Chunks of records: columns with one element for each chunk, and the offsets of its records.

    Args:
        width: number of columns.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._chunks: list[tuple[int, ...]] = []
        self._offset: list[int] = []

    def add(self, chunk: tuple[int, ...], offsets: Sequence[int]) -> int:
        """Add a chunk, whose columns apply to all of its offsets; its number."""
        self._chunks.append((*chunk, len(offsets)))
        self._offset.extend(offsets)
        return len(self._chunks) - 1

    def change(self, number: int, column: int, value: int) -> None:
        """Change a column of a chunk."""
        chunk = self._chunks[number]
        self._chunks[number] = (*chunk[:column], value, *chunk[column + 1 :])

    def columns(self) -> tuple[list[Integers], Integers]:
        """Columns of the chunks, with one element for each record, and the offsets."""
        *columns, sizes = transposed(self._chunks, self._width + 1)
        return [np.repeat(column, sizes) for column in columns], np.array(self._offset, np.int64)
