"""Ingests runs: finds new ones, reads them in Spark, and adds their rows to the tables."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from results.pipeline.errors import spark_errors_named
from results.pipeline.found import FoundRun, Skipped, find_runs
from results.pipeline.snapshots import files
from results.pipeline.snapshots.snapshot import CURRENT, locked, next_snapshot
from results.pipeline.snapshots.staged_files import MANIFEST_COLUMNS, ManifestRow, collected, paths_of
from results.pipeline.spark.progress import Progress, watched
from results.pipeline.steps.checked import Checked, summed
from results.pipeline.tasks.staging import bundled, staging_task

Opening = Callable[[], AbstractContextManager[SparkSession]]


class Ingested(msgspec.Struct, frozen=True):
    """Result of an ingest.

    Attributes:
        runs: number of runs that were added, or read again because they had changed.
        unchanged: number of runs that were in the tables already.
        operations: records sent, records returned, and other operations of the added runs.
        skipped: runs that are not in the tables, and why.
        judged: the result of judging the runs, if requested.
    """

    runs: int
    unchanged: int
    operations: int
    skipped: tuple[Skipped, ...]
    judged: Checked = Checked(0, 0)


class _Known(NamedTuple):
    """A run that is in the tables."""

    fingerprint: str
    folder: str

    def is_still(self, run: FoundRun) -> bool:
        """Whether a found run is this one, unchanged and not moved."""
        return self.fingerprint == run.fingerprint and (
            self.folder == run.folder or Path(self.folder).exists()
        )


def ingest(
    opening: Opening, root: Path, tables: Path, progress: Progress, *, judging: bool = False
) -> Ingested:
    """Update the tables from a store of runs; if nothing is new, nothing is written and no session is opened.

    Args:
        opening: opens a session for a block; called if there is work.
        root: the store; folders at any depth.
        tables: the folder of the tables.
        progress: called with the progress.
        judging: judge runs in the same pass over their journals; runs that are so large that they are judged
            in shares, and runs that can't be judged, are left to `check.check`.

    Raises:
        PipelineError: Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are unchanged.
    """
    found, skipped = find_runs(root)
    with locked(tables):
        known = _known_runs(tables)
    new = [run for run in found if not (run.run in known and known[run.run].is_still(run))]
    if not new:
        return Ingested(0, len(found), 0, tuple(skipped))
    with opening() as session, next_snapshot(tables) as snapshot:
        rows = _staged(session, new, snapshot.scratch, progress, judging=judging)
        added = {
            entry.run_id: entry.operations
            for entry in rows
            if entry.run_id is not None and entry.operations is not None
        }
        snapshot.drop_runs(added.keys() & _known_runs(tables).keys())
        snapshot.place(snapshot.scratch, paths_of(rows))
    folders = {run.run: run.folder for run in new}
    problems = [
        Skipped(folders[entry.run_id], entry.problem) for entry in rows if entry.run_id and entry.problem
    ]
    judged = summed([entry for entry in rows if entry.validity is not None], new)
    return Ingested(len(added), len(found) - len(new), sum(added.values()), (*skipped, *problems), judged)


def _staged(
    session: SparkSession, runs: Sequence[FoundRun], folder: Path, progress: Progress, *, judging: bool
) -> list[ManifestRow]:
    """Write the rows of runs below a folder, in Spark.

    Raises:
        OSError: a file can't be written.
        PipelineError: Spark failed.
    """
    bundles = bundled(runs, session.sparkContext.defaultParallelism)
    task = staging_task(bundles, folder, judging=judging)
    with spark_errors_named("read the runs"), watched(session, progress, "ingest"):
        numbers = session.range(0, len(bundles), 1, numPartitions=len(bundles))
        return collected(numbers.mapInArrow(task, MANIFEST_COLUMNS))


def _known_runs(tables: Path) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for path in files.of(tables / CURRENT / "runs"):
        with pq.ParquetFile(path) as file:
            columns = file.read(["run_id", "fingerprint", "folder"]).to_pydict()
        for run, fingerprint, folder in zip(*columns.values(), strict=True):
            known[run] = _Known(fingerprint, folder)
    return known
