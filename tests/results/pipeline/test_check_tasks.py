"""What Spark's tasks answer, asked without Spark; how runs are planned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.history.operations import History
from checkers.verdict.verdict import Validity
from results.pipeline.found import FoundRun, find_runs
from results.pipeline.steps.check import planned_units
from results.pipeline.tasks import judging
from results.pipeline.tasks.judging import checking, cutting, difference, judge_unit, putting_together
from results.pipeline.tasks.staging import Bundle, bundled, stage_bundle
from results.pipeline.tasks.units import shares_of_run, units_of
from results.store.runs import VERDICT_FILE, load_verdict
from tests.checkers.log_histories import history_of
from tests.results.pipeline.judged_runs import histories, written

FIRST = [pa.RecordBatch.from_pydict({"id": [0]})]


def found_in(root: Path) -> list[FoundRun]:
    return find_runs(root)[0]


class Answer(NamedTuple):
    """The row that the driver gets of a run, and the rows of both tables."""

    row: dict[str, Any]
    verdicts: list[dict[str, Any]]
    anomalies: list[dict[str, Any]]


def answered(manifest: list[dict[str, Any]]) -> Answer:
    """Reads the files that a task names, and removes them."""
    rows: dict[str, list[dict[str, Any]]] = {"verdicts": [], "anomalies": []}
    run, *others = manifest
    for path in (Path(row["path"]) for row in others):
        place = path.parent.parent.parent
        rows[place.name] += pq.ParquetFile(path).read().to_pylist()
        path.unlink()
    return Answer(run, **rows)


def in_one_unit(run: FoundRun) -> Answer:
    task = checking([[run]], Path(run.folder).parent / "staged")
    return answered(pa.Table.from_batches(task(iter(FIRST))).to_pylist())


def in_many_units(run: FoundRun, share_bytes: int) -> Answer:
    pieces = pa.Table.from_batches(cutting([[run]], share_bytes)(iter(FIRST)))
    judged = pa.concat_tables([judge_unit(unit) for unit in groups(pieces)])
    task = putting_together([run], Path(run.folder).parent / "staged")
    return answered(task(judged.take(np.arange(judged.num_rows)[::-1])).to_pylist())


def groups(pieces: pa.Table) -> Iterator[pa.Table]:
    units = np.array(pieces.column("unit").to_pylist())
    for name in np.unique(units):
        yield pieces.take(np.flatnonzero(units == name))


@pytest.mark.parametrize("chunk_bytes", [1000, 4 << 20])
def test_many_units_make_the_rows_of_one(
    tmp_path: Path, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "CHUNK_BYTES", chunk_bytes)
    for name in ("lost", "weak"):
        written(tmp_path, name, histories()[name])
    for run in found_in(tmp_path):
        one, many = in_one_unit(run), in_many_units(run, 3000)
        for row in (*one.verdicts, *many.verdicts):
            assert row.pop("seconds") > 0
        assert many == one
        assert one.anomalies
        assert (one.row["validity"], one.row["stored"], one.row["differs"]) == ("invalid", "invalid", None)


def test_what_can_not_be_judged_is_reported_in_its_row(tmp_path: Path) -> None:
    written(tmp_path, "correct", histories()["correct"])
    (run,) = found_in(tmp_path)
    gone = msgspec.structs.replace(run, folder=str(tmp_path / "none"))
    (journal,) = Path(run.folder).glob("history*.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"index":3', b'"index":"x"', 1))
    for rows in (in_one_unit, lambda run: in_many_units(run, 3000)):
        one, other = rows(run), rows(gone)
        assert "Expected `int`, got `str`" in one.row["problem"]
        assert other.row["problem"] == "its folder is gone"
        assert one.verdicts == other.verdicts == []
        assert one.row["validity"] is other.row["validity"] is None


def test_what_nobody_expected_stops_no_other_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "correct", histories()["correct"])

    def broken(*_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(judging, "units_of", broken)
    assert in_one_unit(found_in(tmp_path)[0]).row["problem"] == "it can't be judged: KeyError: 'surprise'"


def test_what_goes_wrong_behind_the_checkers_stops_no_other_run_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "correct", histories()["correct"])

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied", "verdict.json")

    monkeypatch.setattr(judging, "load_verdict", refused)
    (run,) = found_in(tmp_path)
    for answer in (in_one_unit(run), in_many_units(run, 3000)):
        assert answer.row["problem"].startswith("it can't be judged: PermissionError")
        assert answer.row["errno"] is None
    bundle = Bundle(run.date, run.kafka_version, (run,))
    (ingested, *paths), (unjudged, *others) = (
        stage_bundle(bundle, tmp_path / "staged", judging=judging) for judging in (True, False)
    )
    assert ingested == unjudged
    assert (ingested.problem, ingested.validity, len(paths)) == (None, None, len(others))


def test_how_a_verdict_differs(tmp_path: Path) -> None:
    verdict = load_verdict(written(tmp_path, "lost", histories()["lost"]))
    log, *others = verdict.results
    faster = msgspec.structs.replace(log, figures={**log.figures, "polled_records": 1})
    clean = msgspec.structs.replace(log, validity=Validity.VALID, counts={})
    replace = msgspec.structs.replace
    assert difference(verdict, verdict) is None
    assert difference(replace(verdict, results=(faster, *others)), verdict) == (
        "invalid before, invalid now; the same findings with other texts or figures: log"
    )
    assert difference(replace(verdict, validity=Validity.VALID, results=(clean, *others)), verdict) == (
        "valid before, invalid now; other findings: log"
    )
    assert difference(replace(verdict, as_expected=True), verdict) == "invalid before, invalid now"


def test_without_a_stored_verdict_there_is_nothing_to_differ(tmp_path: Path) -> None:
    folder = written(tmp_path, "lost", histories()["lost"])
    (run,) = found_in(tmp_path)
    (folder / VERDICT_FILE).unlink()
    judged = in_one_unit(run).row
    assert (judged["validity"], judged["stored"], judged["differs"]) == ("invalid", None, None)


def test_a_large_run_and_its_hot_partition_hold_up_no_others(tmp_path: Path) -> None:
    """One run is fifty times as large as each of twenty others, and most of it is one partition of four."""
    for number in range(20):
        written(tmp_path, f"small-{number}", skewed(30))
    folder = written(tmp_path, "large", skewed(2000))
    runs, _ = find_runs(tmp_path)
    sizes = {run.run: run.history_bytes for run in runs}
    assert sizes["large"] > 50 * sizes["small-0"]
    share_bytes = sizes["large"] // 3
    shares = shares_of_run(sizes["large"], share_bytes)
    assert (shares, shares_of_run(sizes["small-0"], share_bytes)) == (4, 1)
    assert planned_units(runs, share_bytes) == 20 + 1 + 2 * 4
    # Bundles have a least size, far above that of these.
    first, *rest = bundled([scaled(run) for run in runs], 2)
    assert [run.run for run in first.runs] == ["large"]
    assert sum(len(bundle.runs) for bundle in rest) == 20
    logs = [unit.content for unit in units_of(str(folder), shares) if unit.name.startswith("log/")]
    assert [np.unique(log.columns.sends.partition).tolist() for log in logs] == [[0], [1], [2, 3]]


def scaled(run: FoundRun) -> FoundRun:
    return msgspec.structs.replace(run, history_bytes=1000 * run.history_bytes)


def skewed(sends: int) -> History:
    """Three of four records go to partition 1."""
    lines = (f"p{n % 4} send {1 if n % 4 else n // 4 % 4}@{n}={n}" for n in range(sends))
    return history_of("\n".join(["setup partitions=4", *lines]))
