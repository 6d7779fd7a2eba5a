"""A cluster of Spark's own, a master and two workers on loopback, and an ingest that is killed."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pandas as pd
import pyspark
import pytest
from pyspark.sql import SparkSession

import harness.cli
from results.pipeline.analytics.tables import ANALYTICS
from results.pipeline.everything import bring_up_to_date
from results.pipeline.ingest import ingest
from results.pipeline.schemas import TABLES
from results.pipeline.snapshot import CURRENT, locked
from tests.results.pipeline.stored_runs import store, tree

SPARK = Path(pyspark.__file__).parent
COMMANDS = Path(harness.cli.__file__).with_name("__main__.py")
BOUND_S = 600
ENVIRONMENT = os.environ | {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_HOME": str(SPARK),
    "PYSPARK_PYTHON": sys.executable,
}


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {BOUND_S} s")
        time.sleep(0.02)


class Daemon:
    """A master or a worker, which says on stderr what it does."""

    def __init__(self, folder: Path, kind: str, *options: str) -> None:
        folder.mkdir()
        self._log = folder / "log"
        command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--webui-port", "0", *options], cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log
            )

    def await_line(self, pattern: str) -> str:
        def found() -> re.Match[str] | None:
            if self.process.poll() is not None:
                pytest.fail(f"it ended: {self._log.read_text()[-2000:]}")
            return re.search(pattern, self._log.read_text())

        wait_until(found, pattern)
        return found()[1]  # type: ignore[index] # it was there a moment ago

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(BOUND_S)


class Cluster:
    """Where its master is, and what its workers keep."""

    def __init__(self, master: str, workers: list[Path]) -> None:
        self.master = master
        self._workers = workers

    def applications(self) -> list[set[str]]:
        """Of each worker, the applications that it had executors for."""
        return [{path.name for path in folder.glob("app-*")} for folder in self._workers]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    place = tmp_path_factory.mktemp("cluster")
    with ExitStack() as ending:
        master = Daemon(place / "master", "master.Master", "--port", "0")
        ending.callback(master.stop)
        address = master.await_line(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        folders = [place / "worker-1", place / "worker-2"]
        workers = [
            Daemon(
                folder, "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(folder), address
            )
            for folder in folders
        ]
        for worker in workers:
            ending.callback(worker.stop)
        for worker in workers:
            worker.await_line(r"(Successfully registered with master)")
        yield Cluster(address, folders)


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
    submit = [SPARK / "bin" / "spark-submit", "--master", cluster.master, COMMANDS]
    told = run([*submit, "pipeline", "all", runs, "--tables", there])
    assert "ingested   1 runs" in told
    assert "unchanged  4 runs" in told
    assert "judged     5 runs" in told
    assert f"computed   {len(ANALYTICS)} tables" in told
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

    words = [sys.executable, COMMANDS, "pipeline", "ingest", runs, "--tables", tables, "--master", "local[1]"]
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
