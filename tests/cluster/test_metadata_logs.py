"""Metadata logs of real nodes, decoded here and by Kafka's own DumpLogSegments: line by line the same."""

import re
import shutil
from pathlib import Path

import docker
import pytest

from harness.cluster.cluster import Cluster
from harness.cluster.images import ensure_image
from harness.kafka.metadata.printing import printed
from harness.kafka.metadata.reading import FileReader
from harness.kafka.topics import NewTopic, create_topic, delete_topic
from harness.vocabulary import Mode, Quorum, Topology

from .conftest import StartCluster

pytestmark = pytest.mark.cluster
FILES_AT = "/run/krucible/files"
LOGGED = re.compile(r"\d{4}-\d\d-\d\dT\S+ [A-Z]+ ")
"""How a line begins that the tool logs."""
TOOL, TOOL_BEFORE_4_3 = "org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments"


@pytest.mark.parametrize(
    ("version", "quorum"),
    [("3.7.1", Quorum.STATIC), ("4.3.1", Quorum.DYNAMIC), ("4.4.0", Quorum.DYNAMIC)],
)
def test_logs_are_printed_as_kafkas_tool_prints_them(
    launch: StartCluster, engine: docker.DockerClient, tmp_path: Path, version: str, quorum: Quorum
) -> None:
    cluster = launch(Topology(mode=Mode.ISOLATED, controllers=1, brokers=2, quorum=quorum), version)
    changed(cluster)
    for node in cluster.nodes:
        files = copied(cluster.disk(node) / "__cluster_metadata-0", tmp_path / node.name)
        theirs = tool_output(engine, version, tmp_path / node.name, files)
        reader = FileReader()
        read = {name: reader.read((tmp_path / node.name / name).read_bytes()) for name in files}
        assert [name for name, file in read.items() if file.problem] == []
        ours = [line for name, file in read.items() for line in printed(f"{FILES_AT}/{name}", file)]
        assert len(ours) == len(theirs) > 20
        differing = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
        # Before 4.1 the tool names the type of a leader change, and no more of it.
        assert [pair for pair in differing if version >= "4.1" or "controlType: LEADER" not in pair[1]] == []


def changed(cluster: Cluster) -> None:
    """Let the log have topics, configs and what a removal leaves."""
    brokers = list(cluster.observe_listeners.values())
    for name in ("kept", "removed"):
        wanted = NewTopic(name, partitions=3, replication_factor=2, config={"retention.ms": "86400000"})
        create_topic(brokers, wanted)
    delete_topic(brokers[0], "removed")


def copied(folder: Path, target: Path) -> list[str]:
    """Copy what can be decoded of a node's log, which goes on meanwhile; the names of the files."""
    target.mkdir()
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".log", ".checkpoint"))
    for name in names:
        shutil.copyfile(folder / name, target / name)
    return names


def tool_output(engine: docker.DockerClient, version: str, folder: Path, files: list[str]) -> list[str]:
    """What the tool prints, in a container of the version's image without a network."""
    output = engine.containers.run(
        ensure_image(version, client=engine).reference,
        [
            "@/opt/krucible/kafka.args",
            TOOL if version >= "4.3" else TOOL_BEFORE_4_3,
            "--cluster-metadata-decoder",
            "--files",
            ",".join(f"{FILES_AT}/{name}" for name in files),
        ],
        entrypoint="java",
        network_mode="none",
        hostname="krucible-tool",  # Log4j complains on stdout of a host that has no address
        extra_hosts={"krucible-tool": "127.0.0.1"},
        volumes={str(folder): {"bind": FILES_AT, "mode": "ro"}},
        remove=True,
    )
    return [line for line in bytes(output).decode().splitlines() if not LOGGED.match(line)]
