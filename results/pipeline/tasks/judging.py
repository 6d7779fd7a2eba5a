"""Tasks of a check: functions that judge runs or shares of runs, from and to Arrow batches.

Shares of a large run are transferred as bytes, pickled and compressed, in cells that are small enough for the
JVM.  To transfer millions of rows would cost more than to judge them.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from checkers.history.operations import History
from checkers.history.reading import HistoryError
from checkers.verdict.verdict import CheckerResult, Validity, Verdict
from results.pipeline.found import FoundRun
from results.pipeline.rows.tabulating import no_collection
from results.pipeline.rows.verdicts import rows_of_verdict, tables_of_verdict
from results.pipeline.snapshots.staged_files import Batches, ManifestRow, StagedFiles, manifest, refused
from results.pipeline.tasks.units import (
    RUN,
    JudgedRun,
    ShareResult,
    Unit,
    judged,
    shares_of_run,
    units_of,
    verdict_and_seconds,
)
from results.store.runs import StoreError, load_verdict

CHUNK_BYTES = 4 << 20
"""Maximum size of a cell with bytes of a unit."""
_UNIT_TYPES: dict[str, pa.DataType] = {
    "run_id": pa.string(),
    "unit": pa.string(),
    "chunk": pa.int32(),
    "content": pa.binary(),
}
UNITS = pa.schema(_UNIT_TYPES)
"""Schema of units of runs; the bytes of a unit are split into chunks."""
UNIT_COLUMNS = from_arrow_schema(UNITS)
"""The same schema for Spark."""


class JudgedRunRows(NamedTuple):
    """Result of judging a run: a row for the driver, and rows of `verdicts` and `anomalies`."""

    row: ManifestRow
    tables: dict[str, pa.Table]


def checking(bundles: Sequence[Sequence[FoundRun]], folder: Path) -> Callable[[Batches], Batches]:
    """The function that Spark runs to judge bundles (given by number) whose runs are one unit each.

    Args:
        bundles: all bundles, by number.
        folder: folder for staged files, also reachable for the driver.
    """

    def check_bundles(batches: Batches) -> Batches:
        runs = _runs_of(bundles, batches)
        yield manifest(_staged(((run, judged_whole(run)) for run in runs), folder))

    return check_bundles


def cutting(bundles: Sequence[Sequence[FoundRun]], share_bytes: int) -> Callable[[Batches], Batches]:
    """The function that Spark runs to split bundles (given by number) into units.

    Args:
        bundles: all bundles, by number.
        share_bytes: size of a history, bytes, for which a run gets one more share.
    """

    def cut_bundles(batches: Batches) -> Batches:
        for run in _runs_of(bundles, batches):
            for unit in _units(run, shares_of_run(run.history_bytes, share_bytes)):
                yield from _packed(run.run, unit)

    return cut_bundles


def judge_unit(table: pa.Table) -> pa.Table:
    """Judge one unit: a share becomes its result, the unit of a whole run is passed on unchanged.

    Args:
        table: the chunks of one unit, schema `UNITS`.

    Returns:
        The chunks of the result, with the same schema.
    """
    name = table.column("unit")[0].as_py()
    if name == RUN:
        return table
    found = Unit(name, judged(_unpacked(table)))
    return pa.Table.from_batches(_packed(table.column("run_id")[0].as_py(), found), UNITS)


def putting_together(runs: Iterable[FoundRun], folder: Path) -> Callable[[pa.Table], pa.Table]:
    """The function that Spark runs for all units of a run, to make its verdict.

    Args:
        runs: all runs that are judged.
        folder: folder for staged files, also reachable for the driver.
    """
    by_id = {run.run: run for run in runs}

    def put_together(table: pa.Table) -> pa.Table:
        content: Any = None
        found: dict[str, dict[int, ShareResult]] = {}
        for name in map(str, pc.unique(table.column("unit"))):
            unit = _unpacked(table.filter(pc.field("unit") == name))
            if name == RUN:
                content = unit
            else:
                checker, number = name.split("/")
                found.setdefault(checker, {})[int(number)] = unit
        in_order = {checker: [some[number] for number in sorted(some)] for checker, some in found.items()}
        run = by_id[table.column("run_id")[0].as_py()]
        rows = _staged([(run, judgement(run, content, in_order))], folder)
        return pa.Table.from_batches([manifest(rows)])

    return put_together


def judged_whole(run: FoundRun, history: History | None = None) -> JudgedRunRows:
    """Judge a run in one unit.

    Args:
        run: the run.
        history: the content of its journals, if they were read already.
    """
    (unit,) = _units(run, 1, history)
    return judgement(run, unit.content, {})


def judgement(run: FoundRun, content: JudgedRun | str, found: dict[str, list[ShareResult]]) -> JudgedRunRows:
    """Combine the unit of a run with the results of its shares.

    Args:
        run: the run.
        content: the content of the run's own unit; a text if it can't be judged.
        found: results of the shares in their order, for each checker that was judged in shares.
    """
    if isinstance(content, str):
        return JudgedRunRows(ManifestRow(run.run, problem=content), {})
    try:
        return _judgement(run, content, found)
    except Exception as error:  # noqa: BLE001 - reported for this run; it must not stop the others
        return JudgedRunRows(ManifestRow(run.run, problem=_unjudged(error)), {})


def _judgement(run: FoundRun, content: JudgedRun, found: dict[str, list[ShareResult]]) -> JudgedRunRows:
    with no_collection():
        verdict, seconds = verdict_and_seconds(content, found)
    stored = _stored(run.folder)
    row = ManifestRow(
        run.run,
        validity=str(verdict.validity),
        stored=None if stored is None else str(stored.validity),
        differs=None if stored is None else difference(stored, verdict),
    )
    judged_by = rows_of_verdict(verdict, content.setup, content.fault_kinds, seconds)
    return JudgedRunRows(row, tables_of_verdict(run.run, judged_by))


def _staged(judgements: Iterable[tuple[FoundRun, JudgedRunRows]], folder: Path) -> list[ManifestRow]:
    """Write the rows of runs."""
    rows = []
    try:
        with StagedFiles(folder) as staged:
            for run, one in judgements:
                rows.append(one.row)
                for name, table in one.tables.items():
                    staged.take(run.place(name), table)
    except OSError as error:
        return [refused(error, folder)]
    return [*rows, *staged.rows()]


def _runs_of(bundles: Sequence[Sequence[FoundRun]], batches: Batches) -> Iterator[FoundRun]:
    for batch in batches:
        for number in batch.column(0).to_numpy():
            yield from bundles[number]


def _units(run: FoundRun, shares: int, history: History | None = None) -> Iterator[Unit]:
    """Units of a run; one unit with a text if it can't be judged."""
    if not Path(run.folder).is_dir():
        yield Unit(RUN, "its folder is gone")
        return
    try:
        with no_collection():
            yield from units_of(run.folder, shares, history)
    except (HistoryError, OSError) as error:
        yield Unit(RUN, str(error))
    except Exception as error:  # noqa: BLE001 - reported for this run; it must not stop the others
        yield Unit(RUN, _unjudged(error))


def _unjudged(error: Exception) -> str:
    return f"it can't be judged: {type(error).__name__}: {error}"


def _stored(folder: str) -> Verdict | None:
    """The verdict in a run's folder; None if there is none now."""
    try:
        return load_verdict(Path(folder))
    except StoreError:
        return None


def difference(stored: Verdict, verdict: Verdict) -> str | None:
    """How a verdict differs from the stored one; None if they are equal byte for byte."""
    encode = msgspec.json.encode
    if encode(stored) == encode(verdict):
        return None
    before = {result.checker: result for result in stored.results}
    now = {result.checker: result for result in verdict.results}
    names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    found = [name for name in names if _found(before.get(name)) != _found(now.get(name))]
    changed = [name for name in names if name not in found]
    parts = [f"{stored.validity} before, {verdict.validity} now"]
    parts += [f"other findings: {', '.join(found)}"] if found else []
    parts += [f"the same findings with other texts or figures: {', '.join(changed)}"] if changed else []
    return "; ".join(parts)


def _found(result: CheckerResult | None) -> tuple[Validity, dict[str, int]] | None:
    """Validity of a result, and number of anomalies by id."""
    return None if result is None else (result.validity, result.counts)


def _packed(run: str, unit: Unit) -> Iterator[pa.RecordBatch]:
    """A unit as rows of `UNITS`."""
    held = pickle.dumps(unit.content, protocol=pickle.HIGHEST_PROTOCOL)
    data = len(held).to_bytes(8, "big") + pa.compress(held, codec="lz4", asbytes=True)
    for number, begin in enumerate(range(0, len(data), CHUNK_BYTES)):
        row = {
            "run_id": run,
            "unit": unit.name,
            "chunk": number,
            "content": data[begin : begin + CHUNK_BYTES],
        }
        yield pa.RecordBatch.from_pylist([row], schema=UNITS)


def _unpacked(table: pa.Table) -> Any:
    """The content of a unit, from its rows."""
    data = b"".join(table.sort_by("chunk").column("content").to_numpy())
    size = int.from_bytes(data[:8], "big")
    held = pa.decompress(data[8:], decompressed_size=size, codec="lz4", asbytes=True)
    return pickle.loads(held)  # noqa: S301 - a task of this very job wrote it
