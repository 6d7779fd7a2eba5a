"""Tables of numbers in observations: each column is packed into a text (`checkers.history.replicas.pack`)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from checkers.history.replicas import BATCHES_FREE, pack, unpack

Types = Mapping[str, np.dtype[Any]]
"""The columns of a table, and the types of their numbers."""
Arrays = Mapping[str, NDArray[Any]]
"""The columns of a table by name, all of the same length."""
_Seen = TypeVar("_Seen")


def packed_rows(rows: Sequence[Sequence[int]], types: Types) -> dict[str, str]:
    """Pack rows; each has one number for each column, in the order of `types`.

    Raises:
        OverflowError: a number is too large for its column.
        ValueError: a row has too few numbers, or too many.
    """
    table = zip(*rows, strict=True) if rows else [()] * len(types)
    return {
        name: pack(np.array(column, dtype=types[name]), name, types)
        for name, column in zip(types, table, strict=True)
    }


def unpacked_rows(packed: Mapping[str, str], count: int, types: Types, rows: str) -> Arrays:
    """The columns of a table, shape (count,), each in its own integer type.

    Args:
        packed: the result of `packed_rows`.
        count: recorded number of rows.
        types: the types of the columns.
        rows: the word for the rows in texts of errors, such as ``records``.

    Raises:
        ValueError: a column is missing, or has another length.
    """
    missing = sorted(types.keys() - packed.keys())
    if missing:
        raise ValueError(f"Expected a column {missing[0]}")
    characters = sum(map(len, packed.values()))
    if count > max(BATCHES_FREE, characters):
        raise ValueError(
            f"Expected at most {characters:,} {rows} in columns of so many characters, got {count:,}"
        )
    return {name: unpack(packed[name], name, count, types) for name in types}


def no_rows(types: Types) -> Arrays:
    """The columns of a table without rows."""
    return {name: np.empty(0, dtype) for name, dtype in types.items()}


def require_places(columns: Arrays, name: str, listed: Sequence[object], *, least: int = 0) -> None:
    """Require that the numbers in a column are places in a list, or not below `least`, which means none.

    Raises:
        ValueError: a number is none of them.
    """
    places = columns[name]
    if len(places) and not least <= places.min() <= places.max() < len(listed):
        raise ValueError(f"Expected numbers from {least} to {len(listed) - 1} in column {name}")


def problem_with(unpack_columns: Callable[[_Seen], object], seen: _Seen) -> str | None:
    """The problem with the columns of an observation, or None.

    Args:
        unpack_columns: raises ValueError if there is one.
        seen: the observation.
    """
    try:
        unpack_columns(seen)
    except ValueError as error:
        return str(error)
    return None
