"""Tables of numbers in observations, such as batches of a log: each column is packed into a text.

The text is the base64 of a zlib stream of little-endian integers: a run has up to millions of batches and
records, and each would otherwise be a dozen Python objects.
"""

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Types = Mapping[str, np.dtype[np.integer]]
"""The columns of a table, and the types of their numbers."""
Arrays = Mapping[str, NDArray[np.integer]]
"""The columns of a table by name, all of the same length."""
_Seen = TypeVar("_Seen")
_COMPRESSION_LEVEL = 1
ROWS_FREE = 100_000
"""More rows need at least one character each; real batches have 13: checksums can't be compressed."""


def pack(column: ArrayLike, name: str, types: Types) -> str:
    """Pack a column into a text for a history; `name` determines the width of its numbers in `types`."""
    numbers = np.ascontiguousarray(column, dtype=types[name])
    return base64.b64encode(zlib.compress(numbers.tobytes(), _COMPRESSION_LEVEL)).decode()


def unpack(text: str, name: str, count: int, types: Types) -> NDArray[np.integer]:
    """Unpack a column that was packed by `pack`.

    Args:
        text: the result of `pack`.
        name: the column's name.
        count: recorded number of values; no more are unpacked, because a small text may unpack to gigabytes.
        types: the types of the columns.

    Raises:
        ValueError: the text is not such a column, or its length differs.
    """
    width = types[name].itemsize
    size = count * width
    try:
        numbers = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"column {name}: {error}") from None
    if len(numbers) != size:
        found = "more" if len(numbers) > size else f"{len(numbers) / width:g}"
        raise ValueError(f"Expected {count} numbers in column {name}, got {found}")
    return np.frombuffer(numbers, dtype=types[name])


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
    if count > max(ROWS_FREE, characters):
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
