"""Builds Arrow tables of one run from NumPy arrays and lists, with the types of the files."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from checkers.columns.tables import NONE, Integers
from results.pipeline.schemas import PARTITIONED_BY, TABLES

Array: TypeAlias = "pa.Array[Any]"
_CODED = pa.dictionary(pa.int32(), pa.string())


@cache
def file_schema(name: str) -> pa.Schema:
    """Schema of a table's files, without columns that are folders; in memory, texts are dictionary codes."""
    held = StructType([field for field in TABLES[name] if field.name not in PARTITIONED_BY])
    plain = to_arrow_schema(held, timezone="UTC")
    return pa.schema([pa.field(f.name, _CODED if f.type == pa.string() else f.type) for f in plain])


def assembled(name: str, run: str, columns: Mapping[str, Array]) -> pa.Table:
    """A table's rows of one run.

    Args:
        name: name of the table.
        run: the run's id.
        columns: all other columns by name, of equal length; integers may be wider than in the files.

    Raises:
        ValueError: an integer does not fit its column.
    """
    schema = file_schema(name)
    size = len(next(iter(columns.values())))
    arrays = {"run_id": named(np.zeros(size, np.int64), [run]), **columns}
    return pa.Table.from_arrays([arrays[field.name].cast(field.type) for field in schema], schema=schema)


def numbers(values: Integers, missing: int = NONE) -> Array:
    """Integers of an array (n,) as a column of the same length, null where a value is `missing`."""
    return pa.array(values, mask=values == missing)


def integers(values: Iterable[int | None]) -> Array:
    """A column of int64 from integers, null for None."""
    return pa.array(list(values), pa.int64())


def booleans(values: NDArray[np.bool_]) -> Array:
    """A column of booleans from an array (n,), without nulls."""
    return pa.array(values)


def named(codes: Integers, names: Sequence[str]) -> Array:
    """A dictionary-coded column of texts.

    Args:
        codes: positions in `names`, shape (n,); a negative one gives null.
        names: the texts, each once.
    """
    indices: Array = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def texts(values: Iterable[str | None]) -> Array:
    """A dictionary-coded column of texts, null for None."""
    return pa.array(list(values), pa.string()).dictionary_encode()


def lists(values: Iterable[Sequence[int] | None]) -> Array:
    """A column of lists of int32, such as ids of nodes, null for None."""
    return pa.array(list(values), pa.list_(pa.int32()))


def rows(name: str, run: str, dictionaries: Sequence[Mapping[str, object]]) -> pa.Table:
    """A table's rows of one run from dictionaries; slower than `assembled`, so only for small tables.

    Args:
        name: name of the table.
        run: the run's id, which becomes the column `run_id`.
        dictionaries: one for each row, values by column; a column that is left out is null.
    """
    schema = file_schema(name)
    return pa.Table.from_pylist([{"run_id": run, **row} for row in dictionaries], schema=schema)
