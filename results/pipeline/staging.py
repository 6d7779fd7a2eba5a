"""A task of an ingest: reads some runs and writes their rows as Parquet beside the tables.

Its answer is a manifest, one row for each run and each file; the driver moves the files that are named there
into the tables, so that nothing of a task that failed, or ran twice, gets in.  The rows themselves never pass
through the JVM: docs/decisions/0009 has the measurement.
"""

import errno
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.reading import HistoryError
from results.pipeline import files
from results.pipeline.columnar import file_schema
from results.pipeline.found import FoundRun
from results.pipeline.tabulating import tables_of
from results.store import StoreError

ROWS_BUFFERED = 500_000
"""Rows of one table that are written at once; also the size of a row group."""
_TYPES: dict[str, pa.DataType] = {
    "run_id": pa.string(),
    "operations": pa.int64(),
    "problem": pa.string(),
    "path": pa.string(),
    "errno": pa.int32(),
}
MANIFEST = pa.schema(_TYPES)
MANIFEST_COLUMNS = "run_id string, operations long, problem string, path string, errno int"
"""`MANIFEST` for Spark."""


class Bundle(NamedTuple):
    """Runs of one day and version that one task reads."""

    date: str
    kafka_version: str
    runs: tuple[FoundRun, ...]

    @property
    def history_bytes(self) -> int:
        """Size of all its journals."""
        return sum(run.history_bytes for run in self.runs)


class Told(NamedTuple):
    """A row of the manifest.

    Attributes:
        run_id: which run it is about.
        operations: how many it has, where it was ingested.
        problem: why it was not.
        path: a file that was written.
        errno: what the operating system refused, so that nothing of the bundle is to be used.
    """

    run_id: str | None = None
    operations: int | None = None
    problem: str | None = None
    path: str | None = None
    errno: int | None = None


def staging_task(
    bundles: Sequence[Bundle], folder: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What Spark runs for each partition of numbers of bundles.

    Args:
        bundles: all of them, by number.
        folder: where files are staged, reachable for the driver as well.
    """

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_numpy().tolist():
                told = [entry._asdict() for entry in stage_bundle(bundles[number], Path(folder))]
                yield pa.RecordBatch.from_pylist(told, schema=MANIFEST)

    return stage


def stage_bundle(bundle: Bundle, folder: Path) -> list[Told]:
    """Write all runs of a bundle; what can't be read is told and left out."""
    try:
        with _Files(folder, bundle) as staged:
            told = [_stage_run(run, staged) for run in bundle.runs]
    except OSError as error:
        code = error.errno or errno.EIO
        return [Told(problem=os.strerror(code), path=str(error.filename or folder), errno=code)]
    return [*told, *(Told(path=str(path)) for path in staged.paths)]


def _stage_run(run: FoundRun, staged: "_Files") -> Told:
    try:
        tables = tables_of(run)
    except (HistoryError, StoreError, ValueError) as error:
        return Told(run.run, problem=str(error))
    except Exception as error:  # noqa: BLE001 - one strange run is told by name, and must not stop a thousand others
        return Told(run.run, problem=f"its history can't be read: {type(error).__name__}: {error}")
    for name, table in tables.items():
        staged.take(name, table)
    return Told(run.run, operations=tables["runs"].column("operations")[0].as_py())


class _Files:
    """The files of one bundle, one a table; written when there is enough, closed with the block."""

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        # What Hive's notation of folders can't hold is escaped, as Spark does it.
        self._place = Path(f"date={bundle.date}") / f"kafka_version={quote(bundle.kafka_version, safe=' ')}"
        self._folder = folder
        self._name = f"part-{uuid.uuid4().hex}.parquet"
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._buffers: dict[str, list[pa.Table]] = defaultdict(list)
        self.paths: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for name in list(self._buffers):
                    self._flush(name)
        finally:
            for writer in self._writers.values():
                writer.close()

    def take(self, name: str, table: pa.Table) -> None:
        """Add rows to a table's file."""
        buffer = self._buffers[name]
        buffer.append(table)
        if sum(part.num_rows for part in buffer) >= ROWS_BUFFERED:
            self._flush(name)

    def _flush(self, name: str) -> None:
        rows = pa.concat_tables(self._buffers.pop(name)).unify_dictionaries()
        if rows.num_rows == 0:
            return
        if name not in self._writers:
            path = self._folder / name / self._place / self._name
            self._writers[name] = files.writer(path, file_schema(name))
            self.paths.append(path)
        self._writers[name].write_table(rows, row_group_size=ROWS_BUFFERED)
