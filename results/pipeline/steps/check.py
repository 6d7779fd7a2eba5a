"""Judges ingested runs inside Spark, by the same checkers, into the tables `verdicts` and `anomalies`.

One task judges a bundle of runs, the largest first, as an ingest reads them (`staging.bundled`).  What a
large run leaves to others (`units`) goes as bytes to one task for each share, grouped by run and unit, and
what is found comes back grouped by run; without a large run nothing is shuffled.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

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
    """Judge the ingested runs that have no verdict of these checkers; without any, no session is opened.

    Args:
        opening: opens a session for a block; called when there is work.
        tables: the folder of the tables.
        progress: is told how far it has come.
        again: judge all runs.

    Raises:
        PipelineError: Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are as they were.
    """
    with locked(tables):
        runs = ingested_runs(tables)
        done = frozenset() if again else _checked_ids(tables)
    new = [run for run in runs if run.run not in done]
    if not new:
        return Checked(0, len(runs))
    with opening() as session, next_snapshot(tables) as snapshot:
        with watched(session, progress, "check"):
            told = check_runs(session, new, snapshot.scratch)
        judged = [entry.run_id for entry in told if entry.run_id is not None and entry.validity is not None]
        snapshot.drop_runs(judged, ("verdicts", "anomalies"))
        snapshot.place(snapshot.scratch, paths_of(told))
    return summed(told, new, unchanged=len(runs) - len(new))


def ingested_runs(tables: Path) -> list[FoundRun]:
    """The runs in the tables, as they were found; read without a session."""
    columns = ("folder", "date", "kafka_version", "history_bytes", "fingerprint")
    return [FoundRun(run=row.pop("run_id"), **row) for row in _read(tables, "runs", "run_id", *columns)]


def check_runs(
    session: SparkSession, found: Sequence[FoundRun], folder: Path, *, share_bytes: int = SHARE_BYTES
) -> list[ManifestRow]:
    """Judge runs from their folders, and write rows of `verdicts` and `anomalies` below another.

    Args:
        session: a session.
        found: the runs.
        folder: where files are staged, absolute: workers have other working folders.
        share_bytes: journals of a large run of which log and registers make one share.

    Returns:
        a row for each run, and one for each file.

    Raises:
        OSError: an operating system refused a file.
        PipelineError: Spark failed.
    """
    bundles = [bundle.runs for bundle in bundled(found, session.sparkContext.defaultParallelism)]
    numbers = session.range(0, len(bundles), 1, numPartitions=max(len(bundles), 1))
    units = planned_units(found, share_bytes)
    with spark_errors_named("judge the runs"):
        if units == len(found):
            return collected(numbers.mapInArrow(checking(bundles, folder), MANIFEST_COLUMNS))
        pieces = numbers.mapInArrow(cutting(bundles, share_bytes), UNIT_COLUMNS)
        # As many tasks as there are shares, however little Spark thinks of the size of one.
        spread = pieces.repartition(units - len(found), "run_id", "unit")
        judged_pieces = spread.groupBy("run_id", "unit").applyInArrow(judge_unit, UNIT_COLUMNS)
        together = putting_together(found, folder)
        return collected(judged_pieces.groupBy("run_id").applyInArrow(together, MANIFEST_COLUMNS))


def planned_units(runs: Iterable[FoundRun], share_bytes: int = SHARE_BYTES) -> int:
    """How many units runs make: one each, and for each share of a large one two, of its log and registers."""
    shares = [shares_of_run(run.history_bytes, share_bytes) for run in runs]
    return len(shares) + sum(2 * count for count in shares if count > 1)


def _checked_ids(tables: Path) -> set[str]:
    """Runs that have a verdict of these very checkers."""
    wholes = _read(tables, "verdicts", "run_id", "figures", only=pc.field("checker") == WHOLE)
    return {row["run_id"] for row in wholes if _checkers_of(row["figures"]) == checkers_version()}


def _read(
    tables: Path, name: str, *columns: str, only: pc.Expression | None = None
) -> Iterator[dict[str, Any]]:
    """Some columns of a table, of the rows that are requested; without a session."""
    for path in files.of(tables / CURRENT / name):
        held = dataset([path], format="parquet", partitioning=_PLACES)
        yield from held.to_table(columns=list(columns), filter=only).to_pylist()


def _checkers_of(figures: str) -> str:
    version: str = msgspec.json.decode(figures)[CHECKED_BY]
    return version
