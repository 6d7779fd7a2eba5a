"""Divides the columns of a history by partition, so that one large partition does not delay the others."""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from checkers.columns.tables import (
    NONE,
    Assigns,
    Booleans,
    Calls,
    Columns,
    FinalReads,
    Integers,
    Reads,
    Sends,
)

_Table = TypeVar("_Table", Sends, Reads, Calls, Assigns, FinalReads)


def shares(columns: Columns, count: int) -> Iterator[Columns]:
    """Divide all partitions, in order, into about `count` shares with similar numbers of rows.

    A partition with more rows than a share should have forms its own share.

    Args:
        columns: the history's columns.
        count: the intended number of shares, at least 1; there may be up to twice as many plus one.

    Yields:
        At least one share.  Each has only the rows of its partitions; codes and names do not change.
    """
    for low, high in pairwise(_cuts(columns, count)):
        yield _share(columns, low, high)


def _cuts(columns: Columns, count: int) -> list[int]:
    """Codes of the partitions at which shares begin, and the code after the last partition."""
    partitions = len(columns.partitions)
    rows = np.bincount(columns.sends.partition, minlength=partitions)
    rows += np.bincount(columns.reads.partition, minlength=partitions)
    ends = np.cumsum(rows)
    fair = max(-(-int(rows.sum()) // count), 1)
    heavy = np.flatnonzero(rows > fair)
    even = np.searchsorted(ends, np.arange(fair, fair * count, fair)) + 1
    cuts = np.unique(np.concatenate((heavy, heavy + 1, even)))
    return [0, *cuts[(cuts > 0) & (cuts < partitions)].tolist(), partitions]


def _share(columns: Columns, low: int, high: int) -> Columns:
    """The rows of partitions from `low` to below `high`; calls without records there are left out."""

    def mine(partition: Integers) -> Booleans:
        within: Booleans = (partition >= low) & (partition < high)
        return within

    sends, reads, assigns, finals = columns.sends, columns.reads, columns.assigns, columns.final_reads
    of_reads, of_finals = mine(reads.partition), mine(finals.partition)
    called = np.zeros(len(columns.calls.op), np.bool_)
    called[reads.call[of_reads]] = True
    called[finals.call[of_finals]] = True
    renumbered = np.where(called, np.cumsum(called) - 1, NONE)
    some_reads, some_finals = _rows(reads, of_reads), _rows(finals, of_finals)
    return replace(
        columns,
        sends=_rows(sends, mine(sends.partition)),
        reads=replace(some_reads, call=renumbered[some_reads.call]),
        calls=_rows(columns.calls, called),
        assigns=_rows(assigns, mine(assigns.partition)),
        final_reads=replace(some_finals, call=renumbered[some_finals.call]),
    )


def _rows(table: _Table, chosen: Booleans) -> _Table:
    """Return some rows of a table, in order."""
    return type(table)(**{field.name: getattr(table, field.name)[chosen] for field in fields(table)})
