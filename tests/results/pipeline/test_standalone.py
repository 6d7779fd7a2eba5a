"""A cluster of Spark's own, a master and two workers on loopback, and an ingest that is killed."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

import harness.cli
from results.pipeline.analytics.tables import ANALYTICS
from results.pipeline.schemas import TABLES
from results.pipeline.snapshots.snapshot import CURRENT, locked
from results.pipeline.steps.everything import bring_up_to_date
from results.pipeline.steps.ingest import ingest
from tests.results.pipeline.stored_runs import store, tree
from tests.standalone import BOUND_S, ENVIRONMENT, SPARK, Cluster, standalone, wait_until

COMMANDS = Path(harness.cli.__file__).with_name("__main__.py")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


ASKING = """
import sys, zlib
from results.pipeline.errors import PipelineError
from results.pipeline.spark.hosts import hosts_of
with hosts_of(sys.argv[1]) as hosts:
    (name,) = hosts.settled()
    print("host", name)
    print(zlib.decompress(hosts.ask(name, "zlib:compress", b"there and back").data).decode())
    print(hosts.ask(name, "no_such_module:call", b"").problem)
    try:
        hosts.ask(name, "zlib:decompress", b"no")
    except PipelineError as error:
        print(error)
"""


def run(words: list[str | Path]) -> str:
    done = subprocess.run(
        words,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def rows(tables: Path, name: str) -> pd.DataFrame:
    frame = pd.read_parquet(tables / CURRENT / name).astype(str)
    frame = frame.drop(columns="seconds", errors="ignore")  # what judging took is another time each time
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


def test_a_master_with_two_workers_makes_the_same_tables(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    runs, there, here = (tmp_path / name for name in ("runs", "there", "here"))
    for number in range(4):
        store(runs, f"a{number}", version=f"4.{number}.0")
    words: list[str | Path] = ["pipeline", "ingest", runs, "--tables", there]
    assert "4 runs" in run([sys.executable, COMMANDS, *words, "--master", cluster.master])
    first, second = cluster.applications()
    assert first == second != set()

    store(runs, "b1")
    submit: list[str | Path] = [SPARK / "bin" / "spark-submit", "--master", cluster.master, COMMANDS]
    output = run([*submit, "pipeline", "all", runs, "--tables", there])
    assert "ingested   1 runs" in output
    assert "unchanged  4 runs" in output
    assert "judged     5 runs" in output
    assert f"computed   {len(ANALYTICS)} tables" in output
    assert all(len(applications) == 2 for applications in cluster.applications())

    bring_up_to_date(lambda: nullcontext(spark), runs, here, lambda *_: None)
    for name in (*TABLES, *ANALYTICS):
        pd.testing.assert_frame_equal(rows(there, name), rows(here, name))


def test_an_ingest_that_is_killed_leaves_the_tables_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    runs, tables = tmp_path / "runs", tmp_path / "tables"
    store(runs, "a0")
    ingest(lambda: nullcontext(spark), runs, tables, lambda *_: None)
    before, snapshot = tree(tables / CURRENT), (tables / CURRENT).readlink()
    for number in range(1, 25):
        store(runs, f"b{number}", version=f"4.{number}.0")

    words: list[str | Path] = [sys.executable, COMMANDS, "pipeline", "ingest", runs, "--tables", tables]
    words += ["--master", "local[1]"]
    with subprocess.Popen(
        words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as killed:
        wait_until(
            lambda: list(tables.glob("building-*/scratch/*/*/*/*")) or killed.poll(), "a file is staged"
        )
        killed.send_signal(signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    assert (tables / CURRENT).readlink() == snapshot
    assert tree(tables / CURRENT) == before

    assert ingest(lambda: nullcontext(spark), runs, tables, lambda *_: None).runs == 24
    assert len(pd.read_parquet(tables / CURRENT / "runs")) == 25

    def clean() -> bool:
        with locked(tables):
            return not list(tables.glob("building-*"))

    # The killed one's worker may have been writing on for a moment.
    wait_until(clean, "nothing is left of the killed ingest")


@pytest.mark.long
def test_a_host_is_asked_by_its_name_and_says_what_it_can_not_import(cluster: Cluster) -> None:
    output = run([sys.executable, "-c", ASKING, cluster.master])
    assert output.startswith("host 127.0.0.1\nthere and back\n")
    assert "No module named 'no_such_module' (for " in output
    assert "Spark could not have zlib:decompress done on 127.0.0.1" in output


def test_what_a_host_lacks_is_reported_before_anything_runs(cluster: Cluster, tmp_path: Path) -> None:
    words: list[str | Path] = [
        sys.executable,
        COMMANDS,
        "run",
        "smoke/partition",
        "--seeds",
        "1..2",
        "--kafka-version",
        "4.3.1",
    ]
    words += ["--master", cluster.master, "--runs", tmp_path / "store", "--scratch", "/dev/null/scratch"]
    done = subprocess.run(
        words, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=BOUND_S
    )
    assert done.returncode == 3, done.stderr
    assert "hosts      0 of 1 host can do runs" in done.stdout
    assert (
        "  127.0.0.1  lacks  scratch: /dev/null/scratch: Not a directory; fix: name a folder" in done.stdout
    )
    assert "krucible: no host can do runs" in done.stderr
    assert not list((tmp_path / "store").glob("smoke/partition/2*"))
