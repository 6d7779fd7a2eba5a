"""An ingest brings the tables up to date: new runs, changed runs, and nothing of what is half-written."""

import datetime as dt
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity, Verdict
from harness import cli
from results.pipeline import found as found_runs
from results.pipeline.found import FoundRun, find_runs
from results.pipeline.rows.tabulating import INGESTED, tables_of
from results.pipeline.schemas import TABLES
from results.pipeline.snapshots.snapshot import CURRENT, read_table
from results.pipeline.snapshots.staged_files import ManifestRow
from results.pipeline.steps.ingest import Ingested
from results.pipeline.steps.ingest import ingest as bring_up_to_date
from results.pipeline.tasks.staging import BUNDLE_BYTES_MAX, Bundle, bundled, stage_bundle, staging_task
from results.store.runs import save_verdict
from tests.checkers.logs.log.log_simulator import Simulation
from tests.results.pipeline.stored_runs import VALID, store, tree

UNKNOWN = Verdict(Validity.UNKNOWN, (), reasons=("the disk was full",))


class Tables:
    """A store, and the tables made of it."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark = spark
        self.runs = place / "runs"
        self.folder = place / "tables"
        self.steps: list[tuple[str, int, int]] = []

    def ingest(self) -> Ingested:
        return bring_up_to_date(lambda: nullcontext(self.spark), self.runs, self.folder, self._progress)

    def ingest_without_spark(self) -> Ingested:
        def none() -> AbstractContextManager[SparkSession]:
            pytest.fail("a session was opened without work")

        return bring_up_to_date(none, self.runs, self.folder, self._progress)

    def _progress(self, doing: str, done: int, total: int) -> None:
        self.steps.append((doing, done, total))

    def runs_in(self, name: str = "runs") -> set[str]:
        rows = read_table(self.spark, self.folder, name).select("run_id").distinct().collect()
        return {row.run_id for row in rows}


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Tables(spark, tmp_path)


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Three runs of two versions and days; not changed by tests."""
    made = Tables(spark, tmp_path_factory.mktemp("ingested"))
    store(made.runs, "a1")
    store(made.runs, "a2", version="3.10")
    simulated = msgspec.structs.replace(Simulation(7, 5, 300).history(), began_at="2026-11-21T00:30:00Z")
    store(made.runs, "a3", simulated, began_at="2026-11-21T00:30:00+01:00")
    done = made.ingest()
    assert (done.runs, done.skipped) == (3, ())
    return made


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_their_schemas(ingested: Tables, name: str) -> None:
    frame = read_table(ingested.spark, ingested.folder, name)
    assert [(f.name, f.dataType) for f in frame.schema] == [(f.name, f.dataType) for f in TABLES[name]]
    assert frame.isEmpty() == (name not in INGESTED)


def test_rows_lie_where_their_day_and_version_say(ingested: Tables) -> None:
    rows = (
        read_table(ingested.spark, ingested.folder, "runs")
        .select("run_id", "date", "kafka_version")
        .collect()
    )
    assert {tuple(row) for row in rows} == {
        ("a1", dt.date(2026, 11, 20), "4.3.1"),
        ("a2", dt.date(2026, 11, 20), "3.10"),
        ("a3", dt.date(2026, 11, 20), "4.3.1"),
    }
    assert len(list((ingested.folder / CURRENT / "records").rglob("*.parquet"))) == 2


def test_operations_are_counted_as_the_run_says(ingested: Tables) -> None:
    counted = (
        read_table(ingested.spark, ingested.folder, "operations").groupBy("run_id").sum("records").collect()
    )
    recorded = read_table(ingested.spark, ingested.folder, "runs").select("run_id", "operations").collect()
    assert dict(map(tuple, counted)) == dict(map(tuple, recorded))


def test_pandas_reads_the_folders_as_they_are(ingested: Tables) -> None:
    frame = pd.read_parquet(ingested.folder / CURRENT / "records")
    assert set(frame["run_id"]) == {"a1", "a2", "a3"}
    assert {str(version) for version in frame["kafka_version"].unique()} == {"4.3.1", "3.10"}


def test_progress_was_reported_to_its_end(ingested: Tables) -> None:
    doing, done, total = ingested.steps[-1]
    assert (doing, done) == ("ingest", total)
    assert total == 2


def test_a_second_ingest_changes_not_a_byte_and_needs_no_spark(ingested: Tables) -> None:
    before = tree(ingested.folder)
    assert ingested.ingest_without_spark() == Ingested(0, 3, 0, ())
    assert tree(ingested.folder) == before


def test_new_runs_come_in_changed_ones_anew_and_bad_ones_are_reported(tables: Tables) -> None:
    first = store(tables.runs, "b1")
    store(tables.runs, "b2")
    assert tables.ingest().runs == 2
    kept = {path: content for path, content in tree(tables.folder / CURRENT).items() if "records" in path}

    store(tables.runs, "b3")
    store(tables.runs, "b4", verdict=None)
    cut = store(tables.runs, "b5")
    with (cut / "history-0.jsonl").open("ab") as journal:
        journal.write(b'{"index":')
    odd = store(tables.runs, "b6")
    (odd / "history-0.jsonl").write_bytes(
        (odd / "history-0.jsonl").read_bytes().replace(b'"index":0', b'"index":7')
    )
    done = tables.ingest()
    assert (done.runs, done.unchanged) == (1, 2)
    reasons = {Path(one.folder).name.rpartition("-")[2]: one.reason for one in done.skipped}
    assert reasons.keys() == {str(int(run, 16)) for run in ("b4", "b5", "b6")}
    assert "verdict.json is missing" in reasons[str(0xB4)]
    assert "half-written: history-0.jsonl" in reasons[str(0xB5)]
    assert "history-0.jsonl, line 2" in reasons[str(0xB6)]
    for name in INGESTED:
        assert tables.runs_in(name) == {"b1", "b2", "b3"}
    assert kept.items() <= tree(tables.folder / CURRENT).items()

    save_verdict(first, UNKNOWN)
    assert tables.ingest().runs == 1
    validities = read_table(tables.spark, tables.folder, "runs").select("run_id", "validity").collect()
    assert sorted(map(tuple, validities)) == [("b1", "unknown"), ("b2", "valid"), ("b3", "valid")]
    records = read_table(tables.spark, tables.folder, "records").groupBy("run_id").count().collect()
    assert len({row["count"] for row in records}) == 1

    before = tree(tables.folder)
    assert tables.ingest().runs == 0
    assert tree(tables.folder) == before


def test_the_command_says_what_it_did(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark.version
    store(tmp_path / "runs", "c1")
    store(tmp_path / "runs", "c2", verdict=None)
    words = ["pipeline", "ingest", str(tmp_path / "runs"), "--tables", str(tmp_path / "tables")]
    assert cli.invoke(words) == 0
    first = capsys.readouterr()
    assert "ingested   1 runs" in first.out
    assert "skipped    1 runs" in first.out
    assert "verdict.json is missing" in first.out
    assert "100 %" in first.err
    assert cli.invoke(words) == 0
    assert "unchanged  1 runs" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["pipeline", "ingest", str(tmp_path / "none"), "--tables", str(tmp_path / "t")]) == 64
    assert "expected:" in capsys.readouterr().err
    assert cli.invoke(["pipeline", "ingest", str(tmp_path), "--master", "here"]) == 64


def test_a_run_that_lies_in_two_folders_is_taken_once(tmp_path: Path) -> None:
    store(tmp_path / "one", "d1")
    store(tmp_path / "two", "d1")
    found, skipped = find_runs(tmp_path)
    assert [run.run for run in found] == ["d1"]
    assert "already that of" in skipped[0].reason


def test_what_tables_with_other_columns_held_is_ingested_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, "d2")
    (before,), (same,) = find_runs(tmp_path)[0], find_runs(tmp_path)[0]
    monkeypatch.setattr(found_runs, "TABLES", {**TABLES, "faults": StructType(TABLES["faults"].fields[:-1])})
    (after,) = find_runs(tmp_path)[0]
    assert before == same
    assert before.fingerprint != after.fingerprint


def test_a_run_with_a_seeded_bug_is_not_ingested(tmp_path: Path) -> None:
    store(tmp_path, "d1", seeded_bug="forgets")
    found, (skipped,) = find_runs(tmp_path)
    assert found == []
    assert "the bug forgets was put into its Kafka" in skipped.reason


@pytest.mark.parametrize(
    ("began_at", "version", "reason"),
    [("yesterday", "4.3.1", "isoformat"), ("2026-11-20T21:56:57Z", "", "no version")],
)
def test_an_identity_that_says_too_little_is_reported(
    tmp_path: Path, began_at: str, version: str, reason: str
) -> None:
    store(tmp_path, "d1", began_at=began_at, version=version)
    found, (skipped,) = find_runs(tmp_path)
    assert found == []
    assert reason in skipped.reason
    for journal in store(tmp_path, "d2").glob("history*"):
        journal.unlink()
    assert "no journal" in find_runs(tmp_path)[1][1].reason


def found(run: str, size: int, version: str = "4.3.1") -> FoundRun:
    return FoundRun(
        run=run, folder=run, date="2026-11-22", kafka_version=version, history_bytes=size, fingerprint=run
    )


def test_one_huge_run_begins_first_and_small_ones_share_tasks() -> None:
    small = [found(f"s{number}", 100_000) for number in range(400)]
    bundles = bundled([*small, found("huge", 10 * BUNDLE_BYTES_MAX), found("other", 1, "3.9.0")], cpus=2)
    assert [run.run for run in bundles[0].runs] == ["huge"]
    assert [run.run for run in bundles[-1].runs] == ["other"]
    assert sum(len(bundle.runs) for bundle in bundles) == 402
    assert 3 <= len(bundles) <= 6
    assert all(bundle.history_bytes <= BUNDLE_BYTES_MAX for bundle in bundles[1:])


def test_a_task_answers_with_a_manifest_of_what_it_wrote(tmp_path: Path) -> None:
    store(tmp_path / "runs", "e1")
    runs, _ = find_runs(tmp_path / "runs")
    hostile = msgspec.structs.replace(runs[0], kafka_version="4.3/..1")
    strange = msgspec.structs.replace(runs[0], run="e2", folder=str(tmp_path / "gone"))
    bundle = Bundle("2026-11-20", "4.3/..1", (hostile, strange))
    numbers = pa.RecordBatch.from_pydict({"id": [0]})
    (manifest,) = staging_task([bundle], tmp_path / "staged")(iter([numbers]))
    answers = [ManifestRow(*row.values()) for row in manifest.to_pylist()]
    assert (
        answers[0].operations
        == tables_of(runs[0], read_history(Path(runs[0].folder)))["runs"].column("operations")[0].as_py()
    )
    assert "no journal in this folder" in (answers[1].problem or "")
    written = sorted(
        str(path.relative_to(tmp_path / "staged")) for path in (tmp_path / "staged").rglob("*.parquet")
    )
    assert written == sorted(str(Path(t.path).relative_to(tmp_path / "staged")) for t in answers if t.path)
    assert all("/kafka_version=4.3%2F..1/" in path for path in written)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 64 KiB; needs the right to mount one."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    options = ["-t", "tmpfs", "-o", "size=64k", "krucible-test", str(place)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_is_reported_and_leaves_the_tables_as_they_were(
    spark: SparkSession, tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark.version
    store(tmp_path / "runs", "f1", verdict=VALID)
    words = ["pipeline", "ingest", str(tmp_path / "runs"), "--tables", str(small_disk / "tables")]
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 40_000)
    assert cli.invoke(words) == 3
    stderr = capsys.readouterr().err
    assert "No space left on device" in stderr
    assert "free space" in stderr
    assert not (small_disk / "tables" / CURRENT).exists()
    assert not list((small_disk / "tables").glob("building-*"))


def test_a_bundle_on_a_full_disk_answers_with_the_refusal(tmp_path: Path, small_disk: Path) -> None:
    store(tmp_path / "runs", "f1")
    (small_disk / "filler").write_bytes(b"x" * 60_000)
    runs, _ = find_runs(tmp_path / "runs")
    (answer,) = stage_bundle(Bundle("2026-11-20", "4.3.1", tuple(runs)), small_disk / "staged")
    assert (answer.errno, answer.problem) == (28, "No space left on device")
