"""Clusters for tests: real ones, started here and removed here."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import docker
import pytest
from msgspec.structs import replace

from harness.campaigns.series import TOGETHER
from harness.cluster.cluster import Cluster, Plan, start_cluster
from harness.cluster.engine import compose_binary, connect
from harness.cluster.images import ensure_base, ensure_image, maven
from harness.plan import planning
from harness.run.readiness import await_ready
from harness.vocabulary import Topology
from harness.vocabulary.version import DEFAULT_VERSION
from tests.harness import one_fault as one_fault_alone
from tests.sharing import SHARED_CLUSTER

LIGHT_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
StartCluster = Callable[..., Cluster]
Jars = Callable[[str], Path]


@pytest.fixture(autouse=True)
def runs_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of commands that a test calls are made here, where it has put something in place of something."""
    monkeypatch.setenv(TOGETHER, "1")


@pytest.fixture(autouse=True, scope="module")
def nodes_have_a_light_java() -> Iterator[None]:
    """Nodes of these tests do without Java's second compiler, which takes a third of their CPU time.

    It pays only in runs that are longer than most of these.  The serial collector needs less CPU time too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRUCIBLE_JVM_OPTIONS", " ".join(LIGHT_JAVA))
        yield


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """A client of the engine, which `make test` has set up."""
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def jars() -> Jars:
    """The folder of a version's jars."""
    return partial(maven.resolve, progress=print)


@contextmanager
def launching(engine: docker.DockerClient, folders: pytest.TempPathFactory) -> Iterator[StartCluster]:
    """Start a cluster and wait until it is ready; all are removed at the end, and nothing is left of them."""
    started: list[Cluster] = []

    def start(topology: Topology, version: str = DEFAULT_VERSION) -> Cluster:
        plan = Plan(
            run=secrets.token_hex(4),
            folder=folders.mktemp("run"),
            topology=replace(topology, jvm_options=LIGHT_JAVA + topology.jvm_options),
            version=version,
            kafka_image=ensure_image(version, client=engine).reference,
            holder_image=ensure_base(client=engine),
        )
        cluster = start_cluster(engine, plan, compose_binary())
        started.append(cluster)
        await_ready(cluster)
        return cluster

    try:
        yield start
    finally:
        for cluster in started:
            cluster.remove()
    assert [cluster.leftovers() for cluster in started] == [[]] * len(started)


@pytest.fixture(scope="module")
def launch(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartCluster]:
    """Starts clusters that are gone when the next file's tests begin."""
    with launching(engine, tmp_path_factory) as start:
        yield start


class SharedCluster:
    """Three combined nodes of the default version, which run from the first use until the end."""

    def __init__(self, engine: docker.DockerClient, folders: pytest.TempPathFactory) -> None:
        self._engine, self._folders = engine, folders
        self._stack = ExitStack()
        self._running: Cluster | None = None

    def running(self) -> Cluster:
        """The cluster; started if it does not run."""
        if self._running is None:
            self._running = self._stack.enter_context(launching(self._engine, self._folders))(Topology())
        return self._running

    def end(self) -> None:
        """Remove it, if it runs."""
        self._running = None
        self._stack.close()


@pytest.fixture(scope="session")
def shared_cluster(
    engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedCluster]:
    """What `three_nodes` is taken from."""
    shared = SharedCluster(engine, tmp_path_factory)
    yield shared
    shared.end()


@pytest.fixture(scope="module")
def three_nodes(shared_cluster: SharedCluster) -> Cluster:
    """Three combined nodes of the default version, shared by tests that leave them as they found them."""
    return shared_cluster.running()


@pytest.fixture(autouse=True, scope="module")
def shared_cluster_has_ended(request: pytest.FixtureRequest, shared_cluster: SharedCluster) -> None:
    """Tests on other clusters begin without the shared one beside theirs."""
    if request.node.nodeid not in SHARED_CLUSTER:
        shared_cluster.end()


@pytest.fixture
def one_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with the first of its faults alone, for what is shown by any run that is valid."""
    monkeypatch.setattr(planning, "load_scenario", one_fault_alone.load_scenario)
