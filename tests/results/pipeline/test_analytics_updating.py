"""The computed tables come and go with the tables of runs, whole, and only when these have changed."""

import errno
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrame, SparkSession

from harness.cli.pipeline.tables import tables as command
from results.pipeline.analytics.tables import ANALYTICS
from results.pipeline.analytics.updating import compute
from results.pipeline.errors import PipelineError
from results.pipeline.snapshots import files
from results.pipeline.snapshots.snapshot import CURRENT, Snapshot, next_snapshot, read_table
from tests.results.pipeline.small_tables import MS, Row, S, table_of

RUN = {
    "scenario": "smoke/kill",
    "validity": "valid",
    "options": "x",
    "ended_ns": 9 * S,
    "load_ended_ns": 9 * S,
}


def silent(doing: str, done: int, total: int) -> None:
    del doing, done, total


class SessionOpenedError(Exception):
    """Somebody meant to compute."""


def refused() -> AbstractContextManager[SparkSession]:
    raise SessionOpenedError


def sent(run_id: str, at_ms: int) -> Row:
    call = {"run_id": run_id, "kind": "send", "topic": "t", "partition": 0, "outcome": "ok"}
    return call | {"invoked_ns": at_ms * MS, "completed_ns": at_ms * MS}


def add(spark: SparkSession, root: Path, run_id: str) -> None:
    with next_snapshot(root) as snapshot:
        snapshot.append("runs", table_of(spark, "runs", RUN | {"run_id": run_id}))
        snapshot.append("records", table_of(spark, "records", sent(run_id, 1000), sent(run_id, 8000)))


def test_tables_are_computed_once_and_again_when_a_run_came(spark: SparkSession, tmp_path: Path) -> None:
    add(spark, tmp_path, "r1")
    add(spark, tmp_path, "r2")
    computed = CliRunner().invoke(command, ["--tables", str(tmp_path)], catch_exceptions=False)
    assert f"computed   {len(ANALYTICS)} tables in " in computed.output
    gaps = read_table(spark, tmp_path, "availability", ANALYTICS["availability"].schema).collect()
    assert sorted((gap.run_id, gap.unavailable_ms) for gap in gaps) == [
        ("r1", 1000.0),
        ("r1", 7000.0),
        ("r2", 1000.0),
        ("r2", 7000.0),
    ]
    flakes = read_table(spark, tmp_path, "flakes", ANALYTICS["flakes"].schema).collect()
    assert [(each.scenario, each.runs, each.flaky) for each in flakes] == [("smoke/kill", 2, False)]
    assert len(list(files.of(tmp_path / CURRENT / "flakes"))) == 1

    snapshot = (tmp_path / CURRENT).resolve()
    unchanged = CliRunner().invoke(command, ["--tables", str(tmp_path)], catch_exceptions=False)
    assert unchanged.output.splitlines()[0] == "unchanged  all computed tables"
    assert compute(refused, tmp_path, silent).tables == ()
    assert (tmp_path / CURRENT).resolve() == snapshot

    add(spark, tmp_path, "r3")
    with pytest.raises(SessionOpenedError):
        compute(refused, tmp_path, silent)


def test_one_table_that_fails_leaves_all_as_they_were(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(spark, tmp_path, "r1")
    before = (tmp_path / CURRENT).resolve()
    replaced = Snapshot.replace

    def refused_one(self: Snapshot, name: str, frame: DataFrame, *more: Any) -> None:
        if name == "latency":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replaced(self, name, frame, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "replace", refused_one)
        with pytest.raises(OSError, match="No space left"):
            compute(lambda: nullcontext(spark), tmp_path, silent)
    assert (tmp_path / CURRENT).resolve() == before
    assert not list(tmp_path.glob("building-*"))
    assert not (before / "flakes").exists()
    steps: list[tuple[str, int, int]] = []
    compute(lambda: nullcontext(spark), tmp_path, lambda *step: steps.append(step))
    assert steps == [("tables", done, len(ANALYTICS)) for done in range(1, len(ANALYTICS) + 1)]


def test_without_runs_there_is_nothing_to_compute(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="there are no runs in the tables"):
        compute(refused, tmp_path, silent)
    assert list(tmp_path.iterdir()) == []
