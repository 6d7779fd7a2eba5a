"""A cluster of Spark's own on loopback: a master and workers, real ones, stopped at the end."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from results.pipeline.spark.session import JAVA_OF_LOCAL

SPARK = Path(pyspark.__file__).parent
SETTINGS = Path(__file__).with_name("spark_conf")
"""Folder of settings of Spark for sessions that tests start in other processes."""
BOUND_S = 600
ENVIRONMENT = os.environ | {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
    # A driver and executors here do as little as a session on one machine.
    "JDK_JAVA_OPTIONS": " ".join(JAVA_OF_LOCAL),
    "SPARK_CONF_DIR": str(SETTINGS),
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
    """A master or a worker, which logs on stderr what it does."""

    def __init__(self, folder: Path, kind: str, *options: str, host: str = "127.0.0.1") -> None:
        folder.mkdir()
        self._log = folder / "log"
        command: list[str | Path] = [
            SPARK / "bin" / "spark-class",
            f"org.apache.spark.deploy.{kind}",
            "--host",
            host,
        ]
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

    def __init__(self, master: str, folders: list[Path], workers: list[Daemon]) -> None:
        self.master = master
        self.workers = workers
        self._folders = folders

    def applications(self) -> list[set[str]]:
        """Of each worker, the applications that it had executors for."""
        return [{path.name for path in folder.glob("app-*")} for folder in self._folders]


@contextmanager
def standalone(place: Path, hosts: tuple[str, ...] = ("127.0.0.1", "127.0.0.1")) -> Iterator[Cluster]:
    """A master, and a worker of one core for each of these addresses of this machine."""
    with ExitStack() as ending:
        master = Daemon(place / "master", "master.Master", "--port", "0")
        ending.callback(master.stop)
        address = master.await_line(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        folders = [place / f"worker-{number}" for number in range(1, len(hosts) + 1)]
        workers = []
        for folder, host in zip(folders, hosts, strict=True):
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder), address)
            workers.append(Daemon(folder, "worker.Worker", *options, host=host))
            ending.callback(workers[-1].stop)
        for worker in workers:
            worker.await_line(r"(Successfully registered with master)")
        yield Cluster(address, folders, workers)
