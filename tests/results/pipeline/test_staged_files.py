"""Tasks write rows where their day and version say, and report what the operating system refused."""

import datetime as dt
import errno
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from results.pipeline.schemas import PARTITIONED_BY
from results.pipeline.snapshots import staged_files
from results.pipeline.snapshots.staged_files import (
    ManifestRow,
    StagedFiles,
    answered,
    manifest,
    paths_of,
    place_of,
    writing,
)

DAYS = [dt.date(2026, 11, day) for day in (20, 21, 20)]
ROWS = pa.RecordBatch.from_pydict({"n": [1, 2, 3], "date": DAYS, "kafka_version": ["4.3.1", "4.3.1", "4/1"]})


def manifest_rows(answers: list[pa.RecordBatch]) -> list[ManifestRow]:
    return [ManifestRow(*row.values()) for row in pa.Table.from_batches(answers).to_pylist()]


def test_rows_lie_by_day_and_version_without_these_columns(tmp_path: Path) -> None:
    answers = manifest_rows(list(writing("t", PARTITIONED_BY, tmp_path)(iter([ROWS, ROWS]))))
    held = {
        str(path.parent.relative_to(tmp_path)): pq.ParquetFile(path).read().to_pydict()
        for path in paths_of(answers)
    }
    assert held == {
        "t/date=2026-11-20/kafka_version=4.3.1": {"n": [1, 1]},
        "t/date=2026-11-20/kafka_version=4%2F1": {"n": [3, 3]},
        "t/date=2026-11-21/kafka_version=4.3.1": {"n": [2, 2]},
    }


def test_without_partitions_all_rows_are_one_file_and_none_are_none(tmp_path: Path) -> None:
    (path,) = paths_of(manifest_rows(list(writing("t", (), tmp_path)(iter([ROWS])))))
    assert pq.ParquetFile(path).read().num_rows == 3
    assert manifest_rows(list(writing("t", (), tmp_path)(iter([ROWS.slice(0, 0)])))) == []


def test_many_rows_are_written_group_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_files, "ROWS_BUFFERED", 4)
    with StagedFiles(tmp_path) as staged:
        for _ in range(3):
            staged.take(Path("t"), pa.table({"n": [1, 2, 3]}))
    (path,) = paths_of(staged.rows())
    assert [pq.ParquetFile(path).metadata.row_group(n).num_rows for n in range(2)] == [4, 2]
    assert pq.ParquetFile(path).read().num_rows == 9


def test_a_task_may_have_more_places_than_open_files(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    days = [dt.date(2026, 1, 1) + dt.timedelta(day) for day in range(200)]
    rows = pa.RecordBatch.from_pydict({"date": days, "kafka_version": ["4.3.1"] * 200, "n": [*range(200)]})
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + 50, limits[1]))
    try:
        answers = manifest_rows(list(writing("t", PARTITIONED_BY, tmp_path)(iter([rows]))))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert sorted(pq.ParquetFile(path).read()["n"][0].as_py() for path in paths_of(answers)) == list(
        range(200)
    )


def test_a_row_without_its_day_or_version_is_refused() -> None:
    with pytest.raises(ValueError, match="rows of t have no kafka_version"):
        place_of("t", {"date": DAYS[0], "kafka_version": None})


def test_what_the_operating_system_refuses_is_reported_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("in the way")
    (answer,) = manifest_rows(list(writing("t", (), tmp_path)(iter([ROWS]))))
    assert answer.errno == errno.EEXIST
    with pytest.raises(OSError, match="File exists") as refusal:
        answered([answer])
    assert refusal.value.filename == answer.path
    assert pa.Table.from_batches([manifest([answer])]).num_rows == 1
