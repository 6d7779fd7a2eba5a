"""A task of an ingest: reads some runs and writes their rows; on request, it also judges them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.history.reading import HistoryError, read_history
from results.pipeline.found import FoundRun
from results.pipeline.rows.tabulating import no_collection, tables_of
from results.pipeline.snapshots.staged_files import Batches, ManifestRow, StagedFiles, manifest, refused
from results.pipeline.tasks.judging import judged_whole
from results.pipeline.tasks.units import shares_of_run
from results.store.runs import StoreError

BUNDLE_BYTES_MAX = 24 << 20
"""Size of the journals for one task, unless a single run has more: about two seconds of work."""
BUNDLE_BYTES_MIN = 4 << 20
_BUNDLES_PER_CPU = 4
_RUN_BYTES = 100_000
"""Fixed cost of a run, expressed in bytes of journals."""


class Bundle(NamedTuple):
    """Runs of one day and version that one task reads."""

    date: str
    kafka_version: str
    runs: tuple[FoundRun, ...]

    @property
    def history_bytes(self) -> int:
        """Size of all its journals."""
        return sum(run.history_bytes for run in self.runs)


def bundled(runs: Iterable[FoundRun], cpus: int) -> list[Bundle]:
    """Bundle runs of the same day and version, so that there are few files; the largest bundle comes first.

    A run that is larger than a bundle is a bundle of its own, and starts first so that nothing waits for it.
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


def staging_task(
    bundles: Sequence[Bundle], folder: Path, *, judging: bool = False
) -> Callable[[Batches], Batches]:
    """The function that Spark runs for a partition of bundles (given by number).

    Args:
        bundles: all bundles, by number.
        folder: folder for staged files, also reachable for the driver.
        judging: whether to judge runs that are not split into shares.
    """

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_numpy().tolist():
                yield manifest(stage_bundle(bundles[number], folder, judging=judging))

    return stage


def stage_bundle(bundle: Bundle, folder: Path, *, judging: bool = False) -> list[ManifestRow]:
    """Write all runs of a bundle; runs that can't be read are reported and left out."""
    try:
        with StagedFiles(folder) as staged:
            rows = [_stage_run(run, staged, judging=judging) for run in bundle.runs]
    except OSError as error:
        return [refused(error, folder)]
    return [*rows, *staged.rows()]


def _stage_run(run: FoundRun, staged: StagedFiles, *, judging: bool) -> ManifestRow:
    try:
        with no_collection():
            history = read_history(Path(run.folder))
            tables = tables_of(run, history)
            row = ManifestRow(run.run, operations=tables["runs"].column("operations")[0].as_py())
            if judging and shares_of_run(run.history_bytes) == 1:
                one = judged_whole(run, history)
                # The next check finds no verdict of a run that can't be judged, and reports why.
                row = one.row._replace(operations=row.operations, problem=None)
                tables |= one.tables
            del history
    except (HistoryError, StoreError, ValueError) as error:
        return ManifestRow(run.run, problem=str(error))
    except Exception as error:  # noqa: BLE001 - reported for this run; it must not stop the others
        return ManifestRow(run.run, problem=f"its history can't be read: {type(error).__name__}: {error}")
    for name, table in tables.items():
        staged.take(run.place(name), table)
    return row
