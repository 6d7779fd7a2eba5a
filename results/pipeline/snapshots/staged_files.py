"""What tasks write: Parquet beside the tables, and a manifest that names it.

A task answers with a `ManifestRow` for each run and each file.  The driver moves only the files that the
manifest names into the tables, so files of a task that failed or ran twice are ignored.  Rows that Python
made never pass through the JVM, and the JVM does not write those that Spark made: docs/decisions/0009 has the
measurements.
"""

import errno
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from results.pipeline.snapshots import files

ROWS_BUFFERED = 500_000
"""Rows of one file that are written at once; also the size of a row group."""
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
MANIFEST_COLUMNS = (
    "run_id string, operations long, problem string, path string, errno int, "
    "validity string, stored string, differs string"
)
"""`MANIFEST` for Spark."""

_COUNT: Any = [([], "count_all")]

Batches = Iterator[pa.RecordBatch]


class ManifestRow(NamedTuple):
    """A row of the manifest.

    Attributes:
        run_id: which run it is about.
        operations: how many it has, where it was ingested.
        problem: why it was not, or why it was not judged.
        path: a file that was written.
        errno: what the operating system refused, so that nothing of the task is to be used.
        validity: of its verdict, where it was judged.
        stored: validity of the verdict in its folder; None if there is none any more.
        differs: how the two differ; None where every byte is the same.
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
    """The files that a task writes; written when there is enough, closed with the block."""

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
                    # Not at the end: a task may have more places than a process may have open files.
                    self._writers[place].close()
        finally:
            for writer in self._writers.values():
                writer.close()

    def take(self, place: Path, rows: pa.Table) -> None:
        """Add rows to the file of a place, such as ``records/date=2026-11-22/kafka_version=4.3.1``."""
        if not rows.num_rows:
            return
        buffer = self._buffers[place]
        buffer.append(rows)
        if sum(part.num_rows for part in buffer) >= ROWS_BUFFERED:
            self._flush(place)

    def rows(self) -> list[ManifestRow]:
        """A row for each file, once the block is over."""
        return [ManifestRow(path=str(self._path(place))) for place in self._writers]

    def _flush(self, place: Path) -> None:
        rows = pa.concat_tables(self._buffers.pop(place)).unify_dictionaries()
        if place not in self._writers:
            self._writers[place] = files.writer(self._path(place), rows.schema)
        self._writers[place].write_table(rows, row_group_size=ROWS_BUFFERED)

    def _path(self, place: Path) -> Path:
        return self._folder / place / self._name


def place_of(name: str, columns: Mapping[str, Any]) -> Path:
    """Where rows of a table lie that have these values in the columns that are folders.

    Raises:
        ValueError: a value is missing.
    """
    missing = [column for column, value in columns.items() if value is None]
    if missing:
        raise ValueError(f"rows of {name} have no {missing[0]}")
    # What Hive's notation of folders can't hold is escaped, as Spark does it.
    folders = (f"{column}={quote(str(value), safe=' ')}" for column, value in columns.items())
    return Path(name, *folders)


def manifest(told: Iterable[ManifestRow]) -> pa.RecordBatch:
    """What a task answers with."""
    return pa.RecordBatch.from_pylist([entry._asdict() for entry in told], schema=MANIFEST)


def refused(error: OSError, folder: Path) -> ManifestRow:
    """That the operating system refused to write below a folder."""
    code = error.errno or errno.EIO
    return ManifestRow(problem=os.strerror(code), path=str(error.filename or folder), errno=code)


def collected(answers: DataFrame) -> list[ManifestRow]:
    """The rows of all tasks.

    Raises:
        OSError: an operating system refused a file.
    """
    return answered([ManifestRow(*row) for row in answers.collect()])


def answered(told: list[ManifestRow]) -> list[ManifestRow]:
    """What tasks told, if nothing was refused.

    Raises:
        OSError: an operating system refused a file.
    """
    for entry in told:
        if entry.errno is not None:
            raise OSError(entry.errno, entry.problem, entry.path)
    return told


def paths_of(told: Iterable[ManifestRow]) -> list[Path]:
    """The files that a manifest names."""
    return [Path(entry.path) for entry in told if entry.path is not None]


def writing(name: str, partitioned_by: Sequence[str], folder: Path) -> Callable[[Batches], Batches]:
    """What Spark runs to write a frame's rows.

    Args:
        name: of their table.
        partitioned_by: columns that are folders.
        folder: where files are staged, reachable for the driver as well.
    """

    def write(batches: Batches) -> Batches:
        try:
            with StagedFiles(folder) as staged:
                for batch in batches:
                    for place, rows in _by_place(name, pa.Table.from_batches([batch]), partitioned_by):
                        staged.take(place, rows)
            told = staged.rows()
        except OSError as error:
            told = [refused(error, folder)]
        yield manifest(told)

    return write


def _by_place(name: str, rows: pa.Table, partitioned_by: Sequence[str]) -> Iterator[tuple[Path, pa.Table]]:
    """Rows by the place of their file, without the columns that are folders."""
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
