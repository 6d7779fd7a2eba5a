"""Clusters for tests: real ones, started here and removed here."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import docker
import pytest

from harness.cluster.cluster import Cluster, Plan, start_cluster
from harness.cluster.engine import compose_binary, connect
from harness.cluster.images import ensure_base, ensure_image, maven
from harness.readiness import await_ready
from harness.vocabulary import Topology

StartCluster = Callable[..., Cluster]
Jars = Callable[[str], Path]


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


@pytest.fixture(scope="session")
def launch(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartCluster]:
    """Start a cluster and wait until it is ready; all are removed at the end, and nothing is left of them."""
    started: list[Cluster] = []

    def start(topology: Topology, version: str = "4.3.1") -> Cluster:
        folder: Path = tmp_path_factory.mktemp("run")
        plan = Plan(
            run=secrets.token_hex(4),
            folder=folder,
            topology=topology,
            version=version,
            kafka_image=ensure_image(version, client=engine).reference,
            holder_image=ensure_base(client=engine),
        )
        cluster = start_cluster(engine, plan, compose_binary())
        started.append(cluster)
        await_ready(cluster)
        return cluster

    yield start
    for cluster in started:
        cluster.remove()
        assert cluster.leftovers() == []


@pytest.fixture(scope="session")
def three_nodes(launch: StartCluster) -> Cluster:
    """Three combined nodes of the newest version, shared by tests that leave them as they found them."""
    return launch(Topology())
