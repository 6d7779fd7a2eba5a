"""Brings the computed tables up to date with the tables of runs, all in one snapshot."""

import hashlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession

from results.pipeline.analytics.tables import ANALYTICS, analyse
from results.pipeline.errors import PipelineError
from results.pipeline.schemas import TABLES
from results.pipeline.snapshots import files
from results.pipeline.snapshots.snapshot import CURRENT, holds_runs, next_snapshot, read_table
from results.pipeline.spark.progress import Progress
from results.pipeline.spark.session import fit_shuffles

COMPUTED_FROM = "computed-from"
"""File of a snapshot with a hash of the inputs and the code of its computed tables."""
_EXCHANGED_PART = 8
"""Maximum share of `records` that is shuffled; it is counted while it is read."""


class Computed(msgspec.Struct, frozen=True):
    """Result of computing the tables.

    Attributes:
        tables: names of the tables that were computed; empty if nothing had changed.
    """

    tables: tuple[str, ...]


def compute(
    opening: Callable[[], AbstractContextManager[SparkSession]], tables: Path, progress: Progress
) -> Computed:
    """Compute all analytics; if nothing has changed, no session is opened.

    Args:
        opening: opens a session for a block.
        tables: the folder of the tables.
        progress: called with the progress.

    Raises:
        PipelineError: nothing was ingested, Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are unchanged.
    """
    current = tables / CURRENT
    if not holds_runs(tables):
        raise PipelineError(
            "there are no runs in the tables",
            expected="at least one that was ingested",
            where=str(tables),
            next_step="krucible pipeline ingest",
        )
    if _noted(current) == computed_from(current):
        return Computed(())
    with opening() as session, next_snapshot(tables) as snapshot:
        of_runs = {name: read_table(session, tables, name) for name in TABLES}
        fit_shuffles(session, _size_bytes(current / "records") // _EXCHANGED_PART)
        done, reporting = count(1), threading.Lock()

        def replace(name: str, frame: DataFrame) -> None:
            analytic = ANALYTICS[name]
            snapshot.replace(name, frame, analytic.schema, analytic.partitioned_by)
            with reporting:
                progress("tables", next(done), len(ANALYTICS))

        analyse(of_runs, replace)
        note = snapshot.folder / COMPUTED_FROM
        # Never written in place, because the previous snapshot has the same file.
        note.unlink(missing_ok=True)
        note.write_text(computed_from(snapshot.folder))
    return Computed(tuple(ANALYTICS))


def computed_from(folder: Path) -> str:
    """A hash of this code and of the names of the files of a snapshot; files never change."""
    digest = hashlib.blake2b(digest_size=16)
    for name in TABLES:
        for path in files.of(folder / name):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


def _noted(folder: Path) -> str | None:
    note = folder / COMPUTED_FROM
    return note.read_text() if note.is_file() else None


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in files.of(folder))
