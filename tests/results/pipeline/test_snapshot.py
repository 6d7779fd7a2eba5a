"""Snapshots: whole or not at all, never changed, and nothing of anybody else's is touched."""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from results.pipeline.errors import NotTablesError, PipelineError
from results.pipeline.schemas import PARTITIONED_BY, TABLES
from results.pipeline.snapshots import files
from results.pipeline.snapshots.snapshot import Snapshot, locked, next_snapshot, read_table
from tests.results.pipeline.stored_runs import tree

PLACE = Path("faults") / "date=2026-11-22" / "kafka_version=4.3.1"


class InterruptedBuildError(Exception):
    pass


def put(snapshot: Snapshot, name: str, *runs: str) -> None:
    """A file with a row of each run."""
    staged = snapshot.scratch / "staged"
    path = staged / PLACE / f"{name}.parquet"
    table = pa.table({"run_id": pa.array(runs, pa.string()), "fault": pa.array([1] * len(runs), pa.int64())})
    with files.writer(path, table.schema) as writer:
        writer.write_table(table)
    snapshot.place(staged, [path])


def held(root: Path, name: str = "current") -> dict[str, list[Any]]:
    """The ids of the runs that each file holds."""
    paths = files.of(root / name / PLACE)
    return {path.stem: pq.ParquetFile(path).read().column("run_id").to_pylist() for path in paths}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Tables of two runs."""
    place = tmp_path / "tables"
    with next_snapshot(place) as snapshot:
        put(snapshot, "a", "r1", "r2")
    yield place
    assert not list(place.glob("building-*"))


def test_a_snapshot_becomes_current_with_the_files_of_the_one_before(root: Path) -> None:
    before = (root / "current").resolve()
    with next_snapshot(root) as snapshot:
        put(snapshot, "b", "r3")
        assert held(root) == {"a": ["r1", "r2"]}
    assert held(root) == {"a": ["r1", "r2"], "b": ["r3"]}
    assert (root / "current").readlink() == Path("snapshots/00000002")
    assert (before / PLACE / "a.parquet").samefile(root / "current" / PLACE / "a.parquet")
    assert list(files.of(before)) == [before / PLACE / "a.parquet"]


def test_an_error_leaves_the_tables_as_they_were(root: Path) -> None:
    before = tree(root)

    def interrupted() -> None:
        with next_snapshot(root) as snapshot:
            put(snapshot, "b", "r3")
            snapshot.drop_runs({"r1"})
            raise InterruptedBuildError

    with pytest.raises(InterruptedBuildError):
        interrupted()
    assert tree(root) == before


def test_without_a_change_there_is_no_new_snapshot(root: Path) -> None:
    before = tree(root)
    with next_snapshot(root) as snapshot:
        snapshot.drop_runs({"nobody"})
    assert tree(root) == before


def test_what_a_killed_command_left_is_removed_and_the_current_stays(root: Path) -> None:
    before = tree(root)
    for name in ("building-00000002-ab/snapshot", "snapshots/00000002/faults"):
        (root / name).mkdir(parents=True)
    with locked(root):
        assert tree(root) == before


def test_the_snapshot_before_stays_for_those_who_read_it_older_ones_go(root: Path) -> None:
    for name in ("b", "c"):
        with next_snapshot(root) as snapshot:
            put(snapshot, name, "r3")
    assert sorted(path.name for path in (root / "snapshots").iterdir()) == ["00000002", "00000003"]


def test_two_commands_do_not_write_at_once(root: Path) -> None:
    with (root / ".lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(PipelineError, match="another command"), next_snapshot(root):
            pass
    with locked(root):
        pass


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    before = tree(tmp_path)
    message = r"(?s)not a folder of tables.*thesis\.tex"
    with pytest.raises(NotTablesError, match=message), next_snapshot(tmp_path):
        pass
    with pytest.raises(NotTablesError, match="a file"), locked(tmp_path / "thesis.tex"):
        pass
    assert tree(tmp_path) == before


def test_rows_of_runs_are_left_out_and_the_snapshot_before_keeps_them(root: Path) -> None:
    before = (root / "current").resolve()
    with next_snapshot(root) as snapshot:
        put(snapshot, "b", "r3")
        put(snapshot, "c", "r4")
        snapshot.drop_runs({"r1", "r3"})
    assert sorted(held(root).values()) == [["r2"], ["r4"]]
    assert held(before, ".") == {"a": ["r1", "r2"]}


def test_many_small_files_become_one(root: Path) -> None:
    with next_snapshot(root) as snapshot:
        for number in range(files.SMALL_MAX):
            put(snapshot, f"b{number:02}", f"r{number}")
    (runs,) = held(root).values()
    assert sorted(runs) == sorted(["r1", "r2", *(f"r{number}" for number in range(files.SMALL_MAX))])


def test_a_table_that_is_not_there_is_empty_with_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    frame = read_table(spark, tmp_path / "tables", "verdicts")
    assert frame.schema == TABLES["verdicts"]
    assert frame.isEmpty()


def test_frames_are_added_and_replaced_in_the_order_of_their_schema(spark: SparkSession, root: Path) -> None:
    row = ("r1", "log", "lost-write", 2, True, "s", "e", "x")
    of_files = StructType([field for field in TABLES["anomalies"] if field.name not in PARTITIONED_BY])
    folders = spark.sql("select date'2026-11-22' as date, '3.10' as kafka_version")
    frame = folders.crossJoin(spark.createDataFrame([row], of_files))
    ordered = frame.select(*TABLES["anomalies"].names)
    with next_snapshot(root) as snapshot:
        snapshot.append("anomalies", ordered)
        snapshot.append("anomalies", ordered.limit(0))
    found = read_table(spark, root, "anomalies")
    assert found.columns == TABLES["anomalies"].names
    assert [tuple(each)[:8] for each in found.collect()] == [row]
    assert [field.dataType for field in found.schema] == [field.dataType for field in TABLES["anomalies"]]
    assert found.select("kafka_version").first() == ("3.10",)
    with next_snapshot(root) as snapshot:
        snapshot.replace("anomalies", found.unionAll(found))
    assert read_table(spark, root, "anomalies").count() == 2


def test_a_table_that_is_one_file_has_it_without_rows_too(spark: SparkSession, root: Path) -> None:
    schema = StructType([TABLES["faults"]["kind"], TABLES["faults"]["targets"]])
    with next_snapshot(root) as snapshot:
        snapshot.replace("kinds", spark.createDataFrame([], schema), schema, ())
    (path,) = files.of(root / "current" / "kinds")
    assert pq.ParquetFile(path).schema_arrow.names == ["kind", "targets"]
    assert read_table(spark, root, "kinds", schema).count() == 0


def test_small_files_of_other_columns_are_not_merged_with_others(root: Path) -> None:
    with next_snapshot(root) as snapshot:
        for number in range(files.SMALL_MAX):
            put(snapshot, f"new-{number:02}", f"r{number}")
        older = snapshot.folder / PLACE / "older.parquet"
        table = pa.table({"run_id": ["r0"]})
        with files.writer(older, table.schema) as writer:
            writer.write_table(table)
    names = [path.stem for path in files.of(root / "current" / PLACE)]
    assert len(names) == 2
    assert "older" in names


def test_a_frame_with_other_columns_is_refused(spark: SparkSession, root: Path) -> None:
    before = tree(root)
    frame = spark.createDataFrame([("r1",)], "run_id string")
    with pytest.raises(PipelineError, match=r"(?s)faults.*expected"), next_snapshot(root) as snapshot:
        snapshot.append("faults", frame)
    assert tree(root) == before
