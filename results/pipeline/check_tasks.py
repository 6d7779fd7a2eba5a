"""Tasks of a check: what Spark runs to judge runs, or shares of them, from and to Arrow batches.

What a large run's unit leaves to others travels as bytes, pickled and compressed, in cells that are small
enough for a JVM; rows by the million would cost more than it takes to judge them.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from checkers.reading import HistoryError
from checkers.verdict import CheckerResult, Validity, Verdict
from results.pipeline.check_rows import rows_of_verdict
from results.pipeline.found import FoundRun
from results.pipeline.tabulating import no_collection
from results.pipeline.units import (
    RUN,
    Found,
    JudgedRun,
    Unit,
    judged,
    shares_of_run,
    units_of,
    verdict_and_seconds,
)
from results.store import StoreError, load_verdict

CHUNK_BYTES = 4 << 20
"""Largest cell in which the bytes of a unit travel."""
_UNIT_COLUMNS: dict[str, pa.DataType] = {
    "run_id": pa.string(),
    "unit": pa.string(),
    "chunk": pa.int32(),
    "content": pa.binary(),
}
UNITS = pa.schema(_UNIT_COLUMNS)
"""Units of runs; the bytes of one are in chunks."""
_ANOMALY = pa.struct(
    [
        ("id", pa.string()),
        ("count", pa.int64()),
        ("illegal", pa.bool_()),
        ("summary", pa.string()),
        ("explanation", pa.string()),
        ("signature", pa.string()),
    ]
)
_COLUMNS: dict[str, pa.DataType] = {
    "run_id": pa.string(),
    "checker": pa.string(),
    "validity": pa.string(),
    "unknown_because": pa.string(),
    "reasons": pa.list_(pa.string()),
    "figures": pa.string(),
    "seconds": pa.float64(),
    "anomalies": pa.list_(_ANOMALY),
    "date": pa.date32(),
    "kafka_version": pa.string(),
    "folder": pa.string(),
    "stored": pa.string(),
    "differs": pa.string(),
    "problem": pa.string(),
}
CHECKED = pa.schema(_COLUMNS)
"""A row for each checker of a run, or one with the problem for which the run could not be judged."""

_Batches = Iterator[pa.RecordBatch]


def checking(bundles: Sequence[Sequence[FoundRun]]) -> Callable[[_Batches], _Batches]:
    """What Spark runs for numbers of bundles whose runs are one unit each."""

    def check_bundles(batches: _Batches) -> _Batches:
        for run in _runs_of(bundles, batches):
            for unit in _units(run, 1):
                yield pa.RecordBatch.from_pylist(_rows(run, unit.content, {}), schema=CHECKED)

    return check_bundles


def cutting(bundles: Sequence[Sequence[FoundRun]], share_bytes: int) -> Callable[[_Batches], _Batches]:
    """What Spark runs for numbers of bundles, to get their units."""

    def cut_bundles(batches: _Batches) -> _Batches:
        for run in _runs_of(bundles, batches):
            for unit in _units(run, shares_of_run(run.history_bytes, share_bytes)):
                yield from _packed(run.run, unit)

    return cut_bundles


def judge_unit(table: pa.Table) -> pa.Table:
    """Judge a share; what a run's own unit holds is handed on."""
    name = table.column("unit")[0].as_py()
    if name == RUN:
        return table
    found = Unit(name, judged(_unpacked(table)))
    return pa.Table.from_batches(_packed(table.column("run_id")[0].as_py(), found), UNITS)


def putting_together(runs: Iterable[FoundRun]) -> Callable[[pa.Table], pa.Table]:
    """What Spark runs for all units of a run."""
    by_id = {run.run: run for run in runs}

    def put_together(table: pa.Table) -> pa.Table:
        content: Any = None
        found: dict[str, dict[int, Found]] = {}
        for name in map(str, pc.unique(table.column("unit"))):
            unit = _unpacked(table.filter(pc.field("unit") == name))
            if name == RUN:
                content = unit
            else:
                checker, number = name.split("/")
                found.setdefault(checker, {})[int(number)] = unit
        in_order = {checker: [some[number] for number in sorted(some)] for checker, some in found.items()}
        run = by_id[table.column("run_id")[0].as_py()]
        return pa.Table.from_pylist(_rows(run, content, in_order), schema=CHECKED)

    return put_together


def _runs_of(bundles: Sequence[Sequence[FoundRun]], batches: _Batches) -> Iterator[FoundRun]:
    for batch in batches:
        for number in batch.column(0).to_numpy():
            yield from bundles[number]


def _units(run: FoundRun, shares: int) -> Iterator[Unit]:
    """Units of a run; one with a text, where it can't be judged."""
    if not Path(run.folder).is_dir():
        yield Unit(RUN, "its folder is gone")
        return
    try:
        with no_collection():
            yield from units_of(run.folder, shares)
    except (HistoryError, OSError) as error:
        yield Unit(RUN, str(error))
    except Exception as error:  # noqa: BLE001 - one strange run is told by name, and must not stop a thousand others
        yield Unit(RUN, f"it can't be judged: {type(error).__name__}: {error}")


def _rows(run: FoundRun, content: JudgedRun | str, found: dict[str, list[Found]]) -> list[dict[str, Any]]:
    """Rows of `CHECKED` of one run."""
    common = {
        "run_id": run.run,
        "date": date.fromisoformat(run.date),
        "kafka_version": run.kafka_version,
        "folder": run.folder,
    }
    if isinstance(content, str):
        return [{**common, "problem": content}]
    with no_collection():
        verdict, seconds = verdict_and_seconds(content, found)
    stored = _stored(run.folder)
    more = {
        "stored": None if stored is None else str(stored.validity),
        "differs": None if stored is None else difference(stored, verdict),
    }
    rows = rows_of_verdict(verdict, content.setup, content.fault_kinds, seconds)
    return [{**row, **common, **more} for row in rows]


def _stored(folder: str) -> Verdict | None:
    """The verdict in a run's folder; None where there is none any more."""
    try:
        return load_verdict(Path(folder))
    except StoreError:
        return None


def difference(stored: Verdict, verdict: Verdict) -> str | None:
    """How a verdict differs from the stored one; None where every byte is the same."""
    encode = msgspec.json.encode
    if encode(stored) == encode(verdict):
        return None
    before = {result.checker: result for result in stored.results}
    now = {result.checker: result for result in verdict.results}
    names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    found = [name for name in names if _found(before.get(name)) != _found(now.get(name))]
    told = [name for name in names if name not in found]
    parts = [f"{stored.validity} before, {verdict.validity} now"]
    parts += [f"other findings: {', '.join(found)}"] if found else []
    parts += [f"the same findings told otherwise, or other figures: {', '.join(told)}"] if told else []
    return "; ".join(parts)


def _found(result: CheckerResult | None) -> tuple[Validity, dict[str, int]] | None:
    """What matters most of what a checker says."""
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
    """What a unit holds, from its rows."""
    data = b"".join(table.sort_by("chunk").column("content").to_numpy())
    size = int.from_bytes(data[:8], "big")
    held = pa.decompress(data[8:], decompressed_size=size, codec="lz4", asbytes=True)
    return pickle.loads(held)  # noqa: S301 - a task of this very job wrote it
