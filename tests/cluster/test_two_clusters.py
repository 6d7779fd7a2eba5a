"""Two clusters at the same time."""

import docker
import pytest

from harness.cluster.cluster import Cluster, find_cluster
from harness.cluster.containers import subnets_in_use
from harness.vocabulary import Topology

from .conftest import StartCluster

pytestmark = pytest.mark.cluster


def test_two_clusters_stand_side_by_side(
    three_nodes: Cluster, launch: StartCluster, engine: docker.DockerClient
) -> None:
    one = three_nodes
    two = launch(Topology(controllers=1, brokers=1))

    assert one.description.layout.subnet != two.description.layout.subnet
    assert {one.description.layout.subnet, two.description.layout.subnet} <= set(subnets_in_use(engine))
    assert find_cluster(engine, one.folder).bootstrap == one.bootstrap
