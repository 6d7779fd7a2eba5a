"""Judged in Spark, runs have the verdicts that one process gives them, in one unit or in many."""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from pyspark.sql import SparkSession

from checkers.history import History
from checkers.judge import readable_setup
from checkers.reading import read_history
from checkers.verdict import Validity
from results.pipeline import check as checking
from results.pipeline.check import Checked, check, check_runs, planned_units
from results.pipeline.check_rows import WHOLE, checkers_version, rows_of_verdict
from results.pipeline.found import FoundRun, find_runs
from results.pipeline.ingest import bundled, ingest
from results.pipeline.schemas import ANOMALIES, VERDICTS
from results.pipeline.snapshot import read_table
from results.pipeline.units import SHARE_BYTES, shares_of_run, units_of
from results.store import load_verdict, save_verdict
from tests.checkers.log_histories import told
from tests.results.pipeline.judged_runs import histories, written

HISTORIES = histories()
SMALL_SHARE_BYTES = 3000
"""Cuts every run but the smallest into several shares."""


def silent(doing: str, done: int, total: int) -> None:
    del doing, done, total


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for name, history in HISTORIES.items():
        written(root, name, history)
    return root


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = tmp_path_factory.mktemp("of-runs") / "tables"
    assert ingest(partial(nullcontext, spark), store, tables, silent).runs == len(HISTORIES)
    return tables


@pytest.fixture
def tables(ingested: Path, tmp_path: Path) -> Iterator[Path]:
    """Tables with nothing but what was ingested."""
    copy = tmp_path / "tables"
    shutil.copytree(ingested, copy, symlinks=True)
    yield copy
    shutil.rmtree(copy)


def checked(spark: SparkSession, tables: Path, *, again: bool = False) -> Checked:
    return check(partial(nullcontext, spark), tables, silent, again=again)


def told_alone(store: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of both tables that one process makes of the verdicts in the folders; without seconds."""
    verdicts, anomalies = [], []
    for name in HISTORIES:
        (folder,) = (store / name).iterdir()
        verdict = load_verdict(folder)
        for row in rows_of_verdict(verdict, readable_setup(read_history(folder)), (), {}):
            common = {"run_id": name, "checker": row["checker"]}
            anomalies += [common | anomaly for anomaly in row.pop("anomalies")]
            del row["seconds"]
            verdicts.append(common | row)
    return verdicts, anomalies


def by_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["run_id"], row["checker"], row.get("id", "")))


@pytest.mark.parametrize("share_bytes", [SHARE_BYTES, SMALL_SHARE_BYTES])
def test_both_tables_are_those_of_one_process(
    spark: SparkSession, store: Path, ingested: Path, share_bytes: int
) -> None:
    runs = check_runs(spark, read_table(spark, ingested, "runs"), share_bytes=share_bytes)
    assert runs.verdicts.schema.names == VERDICTS.names
    assert runs.anomalies.schema.names == ANOMALIES.names
    verdicts = [row.asDict(recursive=True) for row in runs.verdicts.drop("date", "kafka_version").collect()]
    assert all(row.pop("seconds") > 0 for row in verdicts)
    anomalies = [row.asDict() for row in runs.anomalies.drop("date", "kafka_version").collect()]
    assert (by_place(verdicts), by_place(anomalies)) == tuple(map(by_place, told_alone(store)))
    # The verdicts in the folders are compared as bytes.
    assert runs.rows.where("differs is not null or problem is not null").count() == 0
    runs.rows.unpersist()


def test_only_new_runs_are_judged_and_again_all_of_them(spark: SparkSession, tables: Path) -> None:
    validities = [str(load_verdict(Path(row.folder)).validity) for row in _runs(spark, tables)]
    first = checked(spark, tables)
    assert first == Checked(
        len(HISTORIES), 0, {name: validities.count(name) for name in sorted(set(validities))}
    )
    before = current(tables)
    assert checked(spark, tables) == Checked(0, len(HISTORIES))
    assert current(tables) == before
    assert checked(spark, tables, again=True).runs == len(HISTORIES)
    whole = read_table(spark, tables, "verdicts").where(f"checker = '{WHOLE}'")
    assert whole.count() == len(HISTORIES)


def test_other_checkers_judge_anew(
    spark: SparkSession, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(spark, tables)
    monkeypatch.setattr(checking, "checkers_version", lambda: checkers_version()[::-1] + "0")
    assert checked(spark, tables).runs == len(HISTORIES)


def test_what_differs_and_what_is_gone_is_told(spark: SparkSession, tables: Path, store: Path) -> None:
    (differing,), (gone,) = ((store / name).iterdir() for name in ("lost", "cut"))
    kept, away = load_verdict(differing), gone.with_name("away")
    others = tuple(result for result in kept.results if result.checker != "log")
    save_verdict(differing, msgspec.structs.replace(kept, validity=Validity.VALID, results=others))
    gone.rename(away)
    try:
        done = checked(spark, tables)
    finally:
        away.rename(gone)
        save_verdict(differing, kept)
    assert done.runs == len(HISTORIES) - 1
    assert [(run.folder, run.reason) for run in done.differing] == [
        (str(differing), "valid before, invalid now; other findings: log")
    ]
    assert done.changed == 1
    assert [(run.folder, run.reason) for run in done.skipped] == [(str(gone), "its folder is gone")]
    assert "cut" not in {row.run_id for row in read_table(spark, tables, "verdicts").collect()}


def test_a_corrupt_run_is_told_and_stops_no_other(spark: SparkSession, tables: Path, store: Path) -> None:
    (folder,) = (store / "weak").iterdir()
    journal = folder / "history-worker-0.jsonl"
    text = journal.read_bytes()
    journal.write_bytes(text.replace(b'"index":3', b'"index":4', 1))
    try:
        done = checked(spark, tables)
    finally:
        journal.write_bytes(text)
    assert done.runs == len(HISTORIES) - 1
    assert "index 4: a line is missing, or was added" in done.skipped[0].reason


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
    return told("\n".join(["setup partitions=4", *lines]))


def _runs(spark: SparkSession, tables: Path) -> list[Any]:
    return read_table(spark, tables, "runs").collect()


def current(tables: Path) -> Path:
    return (tables / "current").resolve()
