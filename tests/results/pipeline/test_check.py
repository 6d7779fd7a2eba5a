"""Judged in Spark, runs have the verdicts that one process gives them, in one unit or in many."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from checkers.history.reading import read_history
from checkers.judge import readable_setup
from checkers.verdict.verdict import Validity
from harness import cli
from results.pipeline.rows.verdicts import WHOLE, rows_of_verdict
from results.pipeline.snapshots.snapshot import next_snapshot, read_table
from results.pipeline.snapshots.staged_files import paths_of
from results.pipeline.steps import check as checking
from results.pipeline.steps.check import check, check_runs, ingested_runs
from results.pipeline.steps.checked import Checked, summed
from results.pipeline.steps.ingest import ingest
from results.pipeline.tasks.units import SHARE_BYTES
from results.store.runs import load_verdict, save_verdict
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
    assert ingest(lambda: nullcontext(spark), store, tables, silent).runs == len(HISTORIES)
    return tables


@pytest.fixture
def tables(ingested: Path, tmp_path: Path) -> Iterator[Path]:
    """Tables with nothing but what was ingested."""
    copy = tmp_path / "tables"
    shutil.copytree(ingested, copy, symlinks=True)
    yield copy
    shutil.rmtree(copy)


def checked(spark: SparkSession, tables: Path, *, again: bool = False) -> Checked:
    return check(lambda: nullcontext(spark), tables, silent, again=again)


def rows_of_one_process(store: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of both tables that one process makes of the verdicts in the folders; without seconds."""
    verdicts: list[dict[str, Any]] = []
    anomalies: list[dict[str, Any]] = []
    for name in HISTORIES:
        (folder,) = (store / name).iterdir()
        verdict = load_verdict(folder)
        for row in rows_of_verdict(verdict, readable_setup(read_history(folder)), (), {}):
            common = {"run_id": name, "checker": row.checker}
            anomalies += [common | msgspec.structs.asdict(anomaly) for anomaly in row.anomalies]
            left_out = {"anomalies", "seconds"}
            own = {
                column: value
                for column, value in msgspec.structs.asdict(row).items()
                if column not in left_out
            }
            verdicts.append(common | own)
    return verdicts, anomalies


def by_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["run_id"], row["checker"], row.get("id", "")))


@pytest.mark.parametrize("share_bytes", [SHARE_BYTES, SMALL_SHARE_BYTES])
def test_both_tables_are_those_of_one_process(
    spark: SparkSession, store: Path, tables: Path, share_bytes: int
) -> None:
    runs = ingested_runs(tables)
    with next_snapshot(tables) as snapshot:
        answers = check_runs(spark, runs, snapshot.scratch.absolute(), share_bytes=share_bytes)
        snapshot.place(snapshot.scratch, paths_of(answers))
    assert rows_in(spark, tables) == tuple(map(by_place, rows_of_one_process(store)))
    done = summed(answers, runs)
    # The verdicts in the folders are compared as bytes.
    assert (done.runs, done.differing, done.skipped) == (len(HISTORIES), (), ())


def test_judged_while_they_are_ingested_runs_have_the_same_verdicts(
    spark: SparkSession, store: Path, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    done = ingest(lambda: nullcontext(spark), store, tables, silent, judging=True)
    assert rows_in(spark, tables) == tuple(map(by_place, rows_of_one_process(store)))
    assert (done.judged.runs, done.judged.differing) == (len(HISTORIES), ())
    assert checked(spark, tables) == Checked(0, len(HISTORIES))


def rows_in(spark: SparkSession, tables: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of both tables as they are on disk; without seconds, which all have."""
    held = (
        read_table(spark, tables, name).drop("date", "kafka_version") for name in ("verdicts", "anomalies")
    )
    verdicts, anomalies = ([row.asDict(recursive=True) for row in frame.collect()] for frame in held)
    assert all(row.pop("seconds") > 0 for row in verdicts)
    return by_place(verdicts), by_place(anomalies)


def test_only_new_runs_are_judged_and_again_all_of_them(
    spark: SparkSession, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_table(spark, tables, "runs").select("folder").collect()
    validities = Counter(str(load_verdict(Path(row.folder)).validity) for row in rows)
    assert checked(spark, tables) == Checked(len(HISTORIES), 0, dict(sorted(validities.items())))
    before = current(tables)
    assert checked(spark, tables) == Checked(0, len(HISTORIES))
    assert current(tables) == before
    monkeypatch.setattr(checking, "checkers_version", lambda: "that of other checkers")
    assert checking._checked_ids(tables) == set()
    assert checked(spark, tables, again=True).runs == len(HISTORIES)
    whole = read_table(spark, tables, "verdicts").where(f"checker = '{WHOLE}'")
    assert whole.count() == len(HISTORIES)


def test_what_differs_and_what_is_gone_is_reported(
    spark: SparkSession, tables: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (differing,), (gone,) = ((store / name).iterdir() for name in ("lost", "cut"))
    kept, away = load_verdict(differing), gone.with_name("away")
    others = tuple(result for result in kept.results if result.checker != "log")
    save_verdict(differing, msgspec.structs.replace(kept, validity=Validity.VALID, results=others))
    gone.rename(away)
    try:
        assert cli.invoke(["pipeline", "check", "--tables", str(tables)]) == 0
    finally:
        away.rename(gone)
        save_verdict(differing, kept)
    output = capsys.readouterr()
    judged, *lines = output.out.splitlines()
    assert judged.startswith(f"judged     {len(HISTORIES) - 1} runs in ")
    assert lines == [
        "skipped    1 runs",
        f"  {gone}: its folder is gone",
        "changed    1 runs differ from their verdict.json, 1 in validity",
        f"  {differing}: valid before, invalid now; other findings: log",
        f"tables     {tables / 'current'}",
        f"next       krucible pipeline tables --tables {tables}",
    ]
    assert "100 %" in output.err
    assert "cut" not in {row.run_id for row in read_table(spark, tables, "verdicts").collect()}


def current(tables: Path) -> Path:
    return (tables / "current").resolve()
