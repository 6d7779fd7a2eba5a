"""Topologies become real clusters: both modes, both kinds of quorum, old and new versions."""

from pathlib import Path

import pytest

from harness.kafka.endpoint import Endpoint
from harness.run.readiness import await_ready
from harness.vocabulary import Mode, NodeFile, Quorum, Topology

from .conftest import StartCluster

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("version", "topology"),
    [
        ("3.6.2", Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, quorum=Quorum.STATIC)),
        ("3.9.0", Topology(mode=Mode.ISOLATED, controllers=1, brokers=2)),
        ("4.1.1", Topology(controllers=1, brokers=1, quorum=Quorum.STATIC)),
        ("4.3.1", Topology(controllers=5, brokers=5)),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.mode}-{value.quorum}",
)
def test_a_topology_becomes_ready_and_goes_without_a_trace(
    launch: StartCluster, version: str, topology: Topology
) -> None:
    cluster = launch(topology, version)
    endpoint = Endpoint(*next(iter(cluster.observe_listeners.values())), timeout_s=30.0)
    assert endpoint.cluster([]).brokers == {node.id for node in cluster.nodes if node.is_broker}
    endpoint.close()

    cluster.remove()
    assert cluster.leftovers() == []
    assert not (cluster.folder / "disks").exists()


def test_features_options_and_files_reach_the_nodes(launch: StartCluster, tmp_path: Path) -> None:
    extra = tmp_path / "agent.txt"
    extra.write_text("seen")
    topology = Topology(
        controllers=1,
        brokers=1,
        features={"eligible.leader.replicas.version": 0},
        config={"num.partitions": "7"},
        jvm_options=("-Dkrucible.test=yes",),
        node_files=(NodeFile(str(extra), "/opt/agent.txt"),),
    )
    cluster = launch(topology)
    readiness = await_ready(cluster)
    command = cluster.containers["n1"]

    assert readiness.features.get("eligible.leader.replicas.version", 0) == 0
    assert "num.partitions=7" in (cluster.folder / "nodes/n1/server.properties").read_text()
    assert "-Dkrucible.test=yes" in command.command_line()
    assert command.enter_kafka("cat /opt/agent.txt") == "seen"
