"""Campaigns on hosts of a Spark master: real runs, and an executor that is killed during one of them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

import harness.cli
from checkers.verdict.verdict import Validity
from harness.cluster.containers import labelled_runs
from results.store.runs import list_runs
from tests.standalone import BOUND_S, ENVIRONMENT, Cluster, standalone, wait_until

pytestmark = pytest.mark.cluster
COMMANDS = Path(harness.cli.__file__).with_name("__main__.py")
CHILD = b"harness.campaigns.hosting.child"


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that Spark takes for two hosts."""
    with standalone(tmp_path_factory.mktemp("spark"), ("127.0.0.1", "127.0.0.2")) as started:
        yield started


def descendants(pid: int) -> Iterator[int]:
    """A process and all that come of it, from the eldest on."""
    yield pid
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        if parent == pid:
            yield from descendants(int(path.parent.name))


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


class Place:
    """A store and a disk of the host, and campaigns of short runs there."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.store, self.scratch = folder / "store", folder / "scratch"
        self._cluster = cluster

    @contextmanager
    def campaign(self, seeds: str) -> Iterator[subprocess.Popen[str]]:
        """A campaign, one of whose runs has its load."""
        words: list[str | Path] = [sys.executable, COMMANDS, "run", "exploratory/chaos", "--seeds", seeds]
        words += ["--duration-s", "20"]
        words += ["--master", self._cluster.master, "--runs", self.store, "--scratch", self.scratch]
        loaded = self.logs().count(" load")
        pipe = subprocess.PIPE
        with subprocess.Popen(words, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True) as command:
            wait_until(lambda: self.logs().count(" load") > loaded or command.poll() is not None, "a load")
            assert command.poll() is None, self.logs()
            yield command

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.store.glob("hosts/*/*.log")))

    def done(self) -> dict[str, str]:
        (state,) = self.store.glob("exploratory/chaos/campaigns/*/campaign.json")
        done: dict[str, str] = json.loads(state.read_text())["done"]
        return done

    def assert_nothing_is_left(self, engine: docker.DockerClient) -> None:
        assert [1 for labels in labelled_runs(engine).values() if str(self.scratch) in str(labels)] == []
        assert not list(self.scratch.glob("slot-*/*/exploratory/chaos/2*"))


@pytest.fixture
def place(spark_cluster: Cluster, tmp_path: Path) -> Place:
    return Place(spark_cluster, tmp_path)


def below_workers(cluster: Cluster, words: bytes) -> list[int]:
    """Processes of these workers with words in their command."""
    found = (pid for worker in cluster.workers for pid in descendants(worker.process.pid))
    return [pid for pid in found if words in command_of(pid)]


def executor_with_a_run(cluster: Cluster) -> int:
    """The executor, one of these workers', below which a run is under way."""
    executors = below_workers(cluster, b"CoarseGrainedExecutorBackend")
    (found,) = (pid for pid in executors if any(CHILD in command_of(below) for below in descendants(pid)))
    return found


@pytest.mark.long
def test_a_run_whose_executor_is_killed_is_done_again_and_counts_once(
    spark_cluster: Cluster, place: Place, engine: docker.DockerClient
) -> None:
    with place.campaign("1..2") as command:
        os.kill(executor_with_a_run(spark_cluster), signal.SIGKILL)
        output, _ = command.communicate(timeout=BOUND_S)

    assert command.returncode in (0, 2), output + place.logs()  # in so short a run traffic may be missing
    assert "1 of 2 hosts can do runs" in output
    assert "same   the machine of another host here" in output
    assert output.count("lost       it had begun on") == 1
    assert "2 seeds" in output
    assert set(place.done()) == {"1", "2"}
    runs = {run.folder.resolve(): run for run in list_runs(place.store)}
    counted = {Path(folder).resolve() for folder in place.done().values()}
    assert counted <= runs.keys()
    lost = [run for folder, run in runs.items() if folder not in counted]
    assert [run.seed for run in lost] == [1]
    assert lost[0].validity in (None, Validity.UNKNOWN)
    place.assert_nothing_is_left(engine)


def test_what_is_killed_on_its_host_is_cleared_and_an_interruption_heals(
    spark_cluster: Cluster, place: Place, engine: docker.DockerClient
) -> None:
    with place.campaign("1..1") as command:
        (child,) = below_workers(spark_cluster, CHILD)
        os.kill(child, signal.SIGKILL)
        output, complained = command.communicate(timeout=BOUND_S)
    assert command.returncode == 2, output + complained
    assert "the harness was ended by SIGKILL" in output
    place.assert_nothing_is_left(engine)
    assert [run.validity for run in list_runs(place.store)] == [Validity.UNKNOWN]
    assert set(place.done()) == {"1"}

    with place.campaign("1..2") as command:
        command.send_signal(signal.SIGINT)
        output, complained = command.communicate(timeout=BOUND_S)
    assert command.returncode == 2, output + complained
    assert "interrupted: healing and cleaning up" in complained
    assert "missing  2 seeds; the same command continues with them" in output
    assert "UNKNOWN" in output
    assert set(place.done()) == {"1"}, "of the campaign before alone"
    place.assert_nothing_is_left(engine)
