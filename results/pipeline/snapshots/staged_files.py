"""Files that tasks write next to the tables, and the manifest that names them.

A task returns a `ManifestRow` for each run and each file.  The driver moves only the files in the manifest
into the tables, so files of a task that failed or ran twice are ignored.  Python writes all files: rows made
by Python do not pass through the JVM, and the JVM does not write rows made by Spark.  docs/decisions/0009 has
the measurements.
"""

import errno
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from results.pipeline.snapshots import files

ROWS_BUFFERED = 500_000
"""Number of rows that are written at once; also the size of a row group."""
_TYPES: dict[str, pa.DataType] = {
    "run_id": pa.string(),
    "operations": pa.int64(),
    "problem": pa.string(),
    "path": pa.string(),
    "errno": pa.int32(),
    "validity": pa.string(),
    "stored": pa.string(),
    "differs": pa.string(),
}
MANIFEST = pa.schema(_TYPES)
MANIFEST_COLUMNS = from_arrow_schema(MANIFEST)
"""The same schema for Spark."""

_COUNT: list[tuple[list[str], Literal["count_all"]]] = [([], "count_all")]

Batches = Iterator[pa.RecordBatch]


class ManifestRow(NamedTuple):
    """A row of the manifest.

    Attributes:
        run_id: id of the run.
        operations: number of operations, if the run was ingested.
        problem: why the run was not ingested or not judged.
        path: a file that was written.
        errno: error of the operating system; the results of the task must not be used.
        validity: validity of the new verdict, if the run was judged.
        stored: validity of the verdict in the run's folder; None if there is none now.
        differs: how the two verdicts differ; None if they are equal byte for byte.
    """

    run_id: str | None = None
    operations: int | None = None
    problem: str | None = None
    path: str | None = None
    errno: int | None = None
    validity: str | None = None
    stored: str | None = None
    differs: str | None = None


class StagedFiles:
    """The files of a task; rows are written when there are enough, and files are closed with the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = f"part-{uuid.uuid4().hex}.parquet"
        self._writers: dict[Path, pq.ParquetWriter] = {}
        self._buffers: dict[Path, list[pa.Table]] = defaultdict(list)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for place in list(self._buffers):
                    self._flush(place)
                    # Closed now, because a task may have more files than a process may have open.
                    self._writers[place].close()
        finally:
            for writer in self._writers.values():
                writer.close()

    def take(self, place: Path, rows: pa.Table) -> None:
        """Add rows to the file in a folder such as ``records/date=2026-11-22/kafka_version=4.3.1``."""
        if not rows.num_rows:
            return
        buffer = self._buffers[place]
        buffer.append(rows)
        if sum(part.num_rows for part in buffer) >= ROWS_BUFFERED:
            self._flush(place)

    def rows(self) -> list[ManifestRow]:
        """A row for each file, after the end of the block."""
        return [ManifestRow(path=str(self._path(place))) for place in self._writers]

    def _flush(self, place: Path) -> None:
        rows = pa.concat_tables(self._buffers.pop(place)).unify_dictionaries()
        if place not in self._writers:
            self._writers[place] = files.writer(self._path(place), rows.schema)
        self._writers[place].write_table(rows, row_group_size=ROWS_BUFFERED)

    def _path(self, place: Path) -> Path:
        return self._folder / place / self._name


def place_of(name: str, columns: Mapping[str, object]) -> Path:
    """Folder of rows of a table with these values in the partition columns.

    Raises:
        ValueError: a value is missing.
    """
    missing = [column for column, value in columns.items() if value is None]
    if missing:
        raise ValueError(f"rows of {name} have no {missing[0]}")
    # Characters that Hive's folder names can't contain are escaped, as in Spark.
    folders = (f"{column}={quote(str(value), safe=' ')}" for column, value in columns.items())
    return Path(name, *folders)


def manifest(rows: Iterable[ManifestRow]) -> pa.RecordBatch:
    """The result of a task as a batch."""
    return pa.RecordBatch.from_pylist([entry._asdict() for entry in rows], schema=MANIFEST)


def refused(error: OSError, folder: Path) -> ManifestRow:
    """A row that reports an error of the operating system below a folder."""
    code = error.errno or errno.EIO
    return ManifestRow(problem=os.strerror(code), path=str(error.filename or folder), errno=code)


def collected(answers: DataFrame) -> list[ManifestRow]:
    """The rows of all tasks.

    Raises:
        OSError: a task could not write a file.
    """
    return answered([ManifestRow(*row) for row in answers.collect()])


def answered(rows: list[ManifestRow]) -> list[ManifestRow]:
    """Return the rows of tasks if no task reported an error of the operating system.

    Raises:
        OSError: a task could not write a file.
    """
    for entry in rows:
        if entry.errno is not None:
            raise OSError(entry.errno, entry.problem, entry.path)
    return rows


def paths_of(rows: Iterable[ManifestRow]) -> list[Path]:
    """The files that a manifest names."""
    return [Path(entry.path) for entry in rows if entry.path is not None]


def writing(name: str, partitioned_by: Sequence[str], folder: Path) -> Callable[[Batches], Batches]:
    """The function that Spark runs to write the rows of a frame.

    Args:
        name: name of the table.
        partitioned_by: columns that are folders.
        folder: folder for staged files, also reachable for the driver.
    """

    def write(batches: Batches) -> Batches:
        try:
            with StagedFiles(folder) as staged:
                for batch in batches:
                    for place, rows in _by_place(name, pa.Table.from_batches([batch]), partitioned_by):
                        staged.take(place, rows)
            entries = staged.rows()
        except OSError as error:
            entries = [refused(error, folder)]
        yield manifest(entries)

    return write


def _by_place(name: str, rows: pa.Table, partitioned_by: Sequence[str]) -> Iterator[tuple[Path, pa.Table]]:
    """Rows by the folder of their file, without the columns that are folders."""
    if not partitioned_by:
        yield place_of(name, {}), rows
        return
    ordered = rows.sort_by([(column, "ascending") for column in partitioned_by])
    held = ordered.drop_columns(list(partitioned_by))
    begin = 0
    for values in ordered.group_by(list(partitioned_by), use_threads=False).aggregate(_COUNT).to_pylist():
        count = values.pop("count_all")
        yield place_of(name, values), held.slice(begin, count)
        begin += count
