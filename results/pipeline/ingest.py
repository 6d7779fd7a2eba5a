"""Ingests runs: finds those that are new, has Spark read them, and puts their rows into the tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from results.pipeline import files
from results.pipeline.errors import spark_errors_told
from results.pipeline.found import FoundRun, Skipped, find_runs
from results.pipeline.progress import Progress, watched
from results.pipeline.snapshot import CURRENT, locked, next_snapshot
from results.pipeline.staging import MANIFEST_COLUMNS, Bundle, Told, staging_task

BUNDLE_BYTES_MAX = 24 << 20
"""Journals that one task reads, unless a single run has more: about two seconds of work."""
BUNDLE_BYTES_MIN = 4 << 20
_BUNDLES_PER_CPU = 4
_RUN_BYTES = 100_000
"""What a run costs besides its journals' bytes, in bytes."""


Opening = Callable[[], AbstractContextManager[SparkSession]]


class Ingested(msgspec.Struct, frozen=True):
    """What an ingest did.

    Attributes:
        runs: how many were added, or read again because they had changed.
        unchanged: how many were in the tables already.
        operations: records sent, records returned, and operations that are neither, of the runs added.
        skipped: runs that are not in the tables, and why.
    """

    runs: int
    unchanged: int
    operations: int
    skipped: tuple[Skipped, ...]


class _Known(NamedTuple):
    """A run that is in the tables."""

    fingerprint: str
    folder: str

    def is_still(self, run: FoundRun) -> bool:
        """Whether a found run is this one, unchanged and not moved."""
        return self.fingerprint == run.fingerprint and (
            self.folder == run.folder or Path(self.folder).exists()
        )


def ingest(opening: Opening, root: Path, tables: Path, progress: Progress) -> Ingested:
    """Bring the tables up to date with a store of runs; without news nothing is written, no session opened.

    Args:
        opening: opens a session for a block; called when there is work.
        root: the store; folders at any depth.
        tables: the folder of the tables.
        progress: is told how far it has come.

    Raises:
        PipelineError: Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are as they were.
    """
    found, skipped = find_runs(root)
    with locked(tables):
        known = _known_runs(tables)
    new = [run for run in found if not (run.run in known and known[run.run].is_still(run))]
    if not new:
        return Ingested(0, len(found), 0, tuple(skipped))
    with opening() as session, next_snapshot(tables) as snapshot:
        told = _staged(session, new, snapshot.scratch, progress)
        added = {
            entry.run_id: entry.operations
            for entry in told
            if entry.run_id is not None and entry.operations is not None
        }
        snapshot.drop_runs(added.keys() & _known_runs(tables).keys())
        snapshot.place(snapshot.scratch, [Path(entry.path) for entry in told if entry.path is not None])
    folders = {run.run: run.folder for run in new}
    problems = [
        Skipped(folders[entry.run_id], entry.problem) for entry in told if entry.run_id and entry.problem
    ]
    return Ingested(len(added), len(found) - len(new), sum(added.values()), (*skipped, *problems))


def bundled(runs: Iterable[FoundRun], cpus: int) -> list[Bundle]:
    """Put runs of the same day and version together, so that files are few; the largest bundle comes first.

    A run that is larger than a bundle has one of its own, and begins first: nothing waits for it at the end.
    """
    ordered = sorted(runs, key=lambda run: (-run.history_bytes, run.folder))
    fair = sum(map(_cost, ordered)) // (_BUNDLES_PER_CPU * cpus)
    limit = min(max(fair, BUNDLE_BYTES_MIN), BUNDLE_BYTES_MAX)
    alike: dict[tuple[str, str], list[FoundRun]] = defaultdict(list)
    for run in ordered:
        alike[run.date, run.kafka_version].append(run)
    bundles = [Bundle(*place, tuple(part)) for place, of in alike.items() for part in _parts(of, limit)]
    return sorted(bundles, key=lambda bundle: -bundle.history_bytes)


def _parts(runs: Sequence[FoundRun], limit: int) -> Iterator[list[FoundRun]]:
    part: list[FoundRun] = []
    size = 0
    for run in runs:
        if part and size + _cost(run) > limit:
            yield part
            part, size = [], 0
        part.append(run)
        size += _cost(run)
    if part:
        yield part


def _cost(run: FoundRun) -> int:
    return run.history_bytes + _RUN_BYTES


def _staged(session: SparkSession, runs: Sequence[FoundRun], folder: Path, progress: Progress) -> list[Told]:
    """Have Spark write the runs' rows below a folder.

    Raises:
        OSError: an operating system refused a file.
        PipelineError: Spark failed.
    """
    bundles = bundled(runs, session.sparkContext.defaultParallelism)
    with spark_errors_told("read the runs"), watched(session, progress, "ingest"):
        numbers = session.range(0, len(bundles), 1, numPartitions=len(bundles))
        manifest = numbers.mapInArrow(staging_task(bundles, str(folder.absolute())), MANIFEST_COLUMNS)
        told = [Told(*row) for row in manifest.collect()]
    for entry in told:
        if entry.errno is not None:
            raise OSError(entry.errno, entry.problem, entry.path)
    return told


def _known_runs(tables: Path) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for path in files.of(tables / CURRENT / "runs"):
        with pq.ParquetFile(path) as file:
            columns = file.read(["run_id", "fingerprint", "folder"]).to_pydict()
        for run, fingerprint, folder in zip(*columns.values(), strict=True):
            known[run] = _Known(fingerprint, folder)
    return known
