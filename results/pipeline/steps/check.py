"""Judges ingested runs in Spark with the same checkers, into the tables `verdicts` and `anomalies`.

One task judges a bundle of runs, the largest first, as in an ingest (`staging.bundled`).  A large run is
split into shares (`units`): each goes as bytes to a task of its own, grouped by run and unit, and the results
come back grouped by run.  Without a large run nothing is shuffled.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import dataset, partitioning
from pyspark.sql import SparkSession

from results.pipeline.errors import spark_errors_named
from results.pipeline.found import FoundRun
from results.pipeline.rows.verdicts import CHECKED_BY, WHOLE, checkers_version
from results.pipeline.schemas import PARTITIONED_BY
from results.pipeline.snapshots import files
from results.pipeline.snapshots.snapshot import CURRENT, locked, next_snapshot
from results.pipeline.snapshots.staged_files import MANIFEST_COLUMNS, ManifestRow, collected, paths_of
from results.pipeline.spark.progress import Progress, watched
from results.pipeline.steps.checked import Checked, summed
from results.pipeline.tasks.judging import UNIT_COLUMNS, checking, cutting, judge_unit, putting_together
from results.pipeline.tasks.staging import bundled
from results.pipeline.tasks.units import SHARE_BYTES, shares_of_run

_PLACES = partitioning(pa.schema([(name, pa.string()) for name in PARTITIONED_BY]), flavor="hive")


def check(
    opening: Callable[[], AbstractContextManager[SparkSession]],
    tables: Path,
    progress: Progress,
    *,
    again: bool = False,
) -> Checked:
    """Judge the ingested runs that have no verdict of these checkers; without such runs no session is opened.

    Args:
        opening: opens a session for a block; called if there is work.
        tables: the folder of the tables.
        progress: called with the progress.
        again: judge all runs.

    Raises:
        PipelineError: Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are unchanged.
    """
    with locked(tables):
        runs = ingested_runs(tables)
        done = frozenset() if again else _checked_ids(tables)
    new = [run for run in runs if run.run not in done]
    if not new:
        return Checked(0, len(runs))
    with opening() as session, next_snapshot(tables) as snapshot:
        with watched(session, progress, "check"):
            rows = check_runs(session, new, snapshot.scratch)
        judged = [entry.run_id for entry in rows if entry.run_id is not None and entry.validity is not None]
        snapshot.drop_runs(judged, ("verdicts", "anomalies"))
        snapshot.place(snapshot.scratch, paths_of(rows))
    return summed(rows, new, unchanged=len(runs) - len(new))


def ingested_runs(tables: Path) -> list[FoundRun]:
    """The runs in the tables, read without a session."""
    columns = ("folder", "date", "kafka_version", "history_bytes", "fingerprint")
    rows = _read(tables, "runs", "run_id", *columns)
    return [FoundRun(run=row.pop("run_id"), **row) for some in rows for row in some.to_pylist()]


def check_runs(
    session: SparkSession, found: Sequence[FoundRun], folder: Path, *, share_bytes: int = SHARE_BYTES
) -> list[ManifestRow]:
    """Judge runs from their folders, and write rows of `verdicts` and `anomalies` below `folder`.

    Args:
        session: a session.
        found: the runs.
        folder: folder for staged files; absolute, because workers have other working folders.
        share_bytes: size of the journals for which log and registers make one share.

    Returns:
        a row for each run, and one for each file.

    Raises:
        OSError: a file can't be written.
        PipelineError: Spark failed.
    """
    bundles = [bundle.runs for bundle in bundled(found, session.sparkContext.defaultParallelism)]
    numbers = session.range(0, len(bundles), 1, numPartitions=max(len(bundles), 1))
    units = planned_units(found, share_bytes)
    with spark_errors_named("judge the runs"):
        if units == len(found):
            return collected(numbers.mapInArrow(checking(bundles, folder), MANIFEST_COLUMNS))
        pieces = numbers.mapInArrow(cutting(bundles, share_bytes), UNIT_COLUMNS)
        # One task for each share; Spark would use fewer because of their sizes.
        spread = pieces.repartition(units - len(found), "run_id", "unit")
        judged_pieces = spread.groupBy("run_id", "unit").applyInArrow(judge_unit, UNIT_COLUMNS)
        together = putting_together(found, folder)
        return collected(judged_pieces.groupBy("run_id").applyInArrow(together, MANIFEST_COLUMNS))


def planned_units(runs: Iterable[FoundRun], share_bytes: int = SHARE_BYTES) -> int:
    """Number of units: one per run, and two (log, registers) for each share of a large run."""
    shares = [shares_of_run(run.history_bytes, share_bytes) for run in runs]
    return len(shares) + sum(2 * count for count in shares if count > 1)


def _checked_ids(tables: Path) -> set[str]:
    """Ids of runs that have a verdict of this version of the checkers."""
    wholes = _read(tables, "verdicts", "run_id", "figures", only=pc.field("checker") == WHOLE)
    rows = (row for some in wholes for row in some.to_pylist())
    return {row["run_id"] for row in rows if _checkers_of(row["figures"]) == checkers_version()}


def _read(tables: Path, name: str, *columns: str, only: pc.Expression | None = None) -> Iterator[pa.Table]:
    """Some columns of the requested rows of a table, file by file, read without a session."""
    for path in files.of(tables / CURRENT / name):
        held = dataset([path], format="parquet", partitioning=_PLACES)
        yield held.to_table(columns=list(columns), filter=only)


def _checkers_of(figures: str) -> str:
    version: str = msgspec.json.decode(figures)[CHECKED_BY]
    return version
