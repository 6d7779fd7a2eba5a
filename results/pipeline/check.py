"""Judges ingested runs inside Spark, by the same checkers, into the tables `verdicts` and `anomalies`.

One task judges a bundle of runs, the largest first, as an ingest reads them (`ingest.bundled`).  What a large
run leaves to others (`units`) goes as bytes to one task for each share, grouped by run and unit, and what is
found comes back grouped by run; without a large run nothing is shuffled.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from results.pipeline import files
from results.pipeline.check_rows import CHECKED_BY, WHOLE, checkers_version
from results.pipeline.check_tasks import CHECKED, UNITS, checking, cutting, judge_unit, putting_together
from results.pipeline.errors import spark_errors_told
from results.pipeline.found import FoundRun, Skipped
from results.pipeline.ingest import bundled
from results.pipeline.progress import Progress, watched
from results.pipeline.schemas import ANOMALIES, VERDICTS
from results.pipeline.snapshot import CURRENT, locked, next_snapshot, read_table
from results.pipeline.units import SHARE_BYTES, shares_of_run


class CheckedRuns(NamedTuple):
    """What judging gave, as frames that are computed once and kept until `unpersist`.

    Attributes:
        verdicts: rows of the table of that name.
        anomalies: rows of the table of that name.
        rows: what both are made of, with folder, problem, and how the verdict differs from the stored one.
    """

    verdicts: DataFrame
    anomalies: DataFrame
    rows: DataFrame


class Checked(msgspec.Struct, frozen=True):
    """What a check did.

    Attributes:
        runs: how many were judged.
        unchanged: how many had verdicts of these checkers already.
        validities: how many of the judged ones have each validity.
        differing: runs whose verdict is not the one in their folder, and how; other validities come first.
        changed: how many of these have another validity.
        skipped: runs that could not be judged, and why.
    """

    runs: int
    unchanged: int
    validities: dict[str, int] = {}
    differing: tuple[Skipped, ...] = ()
    changed: int = 0
    skipped: tuple[Skipped, ...] = ()


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
        runs = _run_ids(tables)
        done = set() if again else _checked_ids(tables) & runs
    if done == runs:
        return Checked(0, len(runs))
    with opening() as session, next_snapshot(tables) as snapshot, watched(session, progress, "check"):
        table = read_table(session, tables, "runs")
        held = session.createDataFrame([(run,) for run in sorted(done)], "run_id string")
        with spark_errors_told("judge the runs"):
            checked = check_runs(session, table.join(F.broadcast(held), "run_id", "left_anti"))
            told = checked.rows.where(f"checker is null or checker = '{WHOLE}'")
            whole = told.select("run_id", "folder", "validity", "stored", "differs", "problem").collect()
        snapshot.drop_runs([row.run_id for row in whole if row.problem is None], ("verdicts", "anomalies"))
        snapshot.append("verdicts", checked.verdicts)
        snapshot.append("anomalies", checked.anomalies)
        checked.rows.unpersist()
    return _summed(whole, len(done))


def check_runs(session: SparkSession, runs: DataFrame, *, share_bytes: int = SHARE_BYTES) -> CheckedRuns:
    """Judge runs from their folders.

    Args:
        session: a session.
        runs: rows of the table `runs`.
        share_bytes: journals of a large run of which log and registers make one share.
    """
    columns = ("run_id", "folder", "date", "kafka_version", "history_bytes", "fingerprint")
    found = [_found(row) for row in runs.select(*columns).collect()]
    bundles = [bundle.runs for bundle in bundled(found, session.sparkContext.defaultParallelism)]
    numbers = session.range(0, len(bundles), 1, numPartitions=max(len(bundles), 1))
    schema = from_arrow_schema(CHECKED)
    units = planned_units(found, share_bytes)
    if units == len(found):
        rows = numbers.mapInArrow(checking(bundles), schema)
    else:
        pieces = numbers.mapInArrow(cutting(bundles, share_bytes), from_arrow_schema(UNITS))
        # As many tasks as there are shares, however little Spark thinks of the size of one.
        spread = pieces.repartition(units - len(found), "run_id", "unit")
        judged_pieces = spread.groupBy("run_id", "unit").applyInArrow(judge_unit, from_arrow_schema(UNITS))
        rows = judged_pieces.groupBy("run_id").applyInArrow(putting_together(found), schema)
    rows = rows.persist()
    return CheckedRuns(_verdicts(rows), _anomalies(rows), rows)


def planned_units(runs: Iterable[FoundRun], share_bytes: int = SHARE_BYTES) -> int:
    """How many units runs make: one each, and for each share of a large one two, of its log and registers."""
    shares = [shares_of_run(run.history_bytes, share_bytes) for run in runs]
    return len(shares) + sum(2 * count for count in shares if count > 1)


def _verdicts(rows: DataFrame) -> DataFrame:
    return rows.where("problem is null").select(*VERDICTS.names)


def _anomalies(rows: DataFrame) -> DataFrame:
    exploded = rows.select("run_id", "checker", F.explode("anomalies").alias("a"), "date", "kafka_version")
    return exploded.select("run_id", "checker", "a.*", "date", "kafka_version").select(*ANOMALIES.names)


def _found(row: Row) -> FoundRun:
    return FoundRun(
        run=row.run_id,
        folder=row.folder,
        date=row.date.isoformat(),
        kafka_version=row.kafka_version,
        history_bytes=row.history_bytes,
        fingerprint=row.fingerprint,
    )


def _run_ids(tables: Path) -> set[str]:
    """Runs in the tables."""
    return {row["run_id"] for row in _read(tables, "runs", "run_id")}


def _checked_ids(tables: Path) -> set[str]:
    """Runs that have a verdict of these very checkers."""
    wholes = _read(tables, "verdicts", "run_id", "figures", only=pc.field("checker") == WHOLE)
    return {row["run_id"] for row in wholes if _checkers_of(row["figures"]) == checkers_version()}


def _read(
    tables: Path, name: str, *columns: str, only: pc.Expression | None = None
) -> Iterator[dict[str, Any]]:
    """Some columns of a table, of the rows that are asked for; without a session."""
    for path in files.of(tables / CURRENT / name):
        yield from pq.read_table(path, columns=list(columns), filters=only, partitioning=None).to_pylist()


def _checkers_of(figures: str) -> str:
    version: str = msgspec.json.decode(figures)[CHECKED_BY]
    return version


def _summed(whole: Sequence[Row], unchanged: int) -> Checked:
    problems = [Skipped(row.folder, row.problem) for row in whole if row.problem is not None]
    verdicts = [row for row in whole if row.problem is None]
    differing = [row for row in verdicts if row.differs is not None]
    differing.sort(key=lambda row: (row.validity == row.stored, row.folder))
    return Checked(
        runs=len(verdicts),
        unchanged=unchanged,
        validities=dict(sorted(Counter(row.validity for row in verdicts).items())),
        differing=tuple(Skipped(row.folder, row.differs) for row in differing),
        changed=sum(row.validity != row.stored for row in differing),
        skipped=tuple(sorted(problems, key=lambda run: run.folder)),
    )
