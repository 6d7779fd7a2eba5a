"""Commands for a running cluster, one per line."""

import shlex
from pathlib import Path

from harness.cluster.cluster import Description, describe
from harness.cluster.composing import COMPOSE_FILE
from harness.cluster.engine import compose_binary
from harness.cluster.rendering import CLIENT_PORT
from harness.vocabulary.version import parse_version

_TOOL = "java @/opt/krucible/tools.args"
_FIRST_TOPIC_TOOL = (3, 7, 0)
"""The first version of Kafka in which `TopicCommand` is not part of the broker."""


def hands_on(folder: Path) -> str:
    """Return commands for the cluster that was started in a folder.

    Raises:
        KrucibleError: if the folder describes no cluster, or there is no compose command.
    """
    description = describe(folder)
    return "\n".join(f"  {name:<10} {command}" for name, command in _commands(description, folder))


def _commands(description: Description, folder: Path) -> list[tuple[str, str]]:
    nodes, layout = description.topology.nodes(), description.layout
    brokers = [node for node in nodes if node.is_broker]
    addresses = [f"{layout.address(description.topology, node)}:{CLIENT_PORT}" for node in brokers]
    container = f"{layout.project}-{brokers[0].name}"
    tool = f"docker exec {container} {_TOOL}"
    at = f"--bootstrap-server {','.join(addresses)}"
    compose = shlex.join(
        [*compose_binary(), "-p", layout.project, "-f", str((folder / COMPOSE_FILE).resolve())]
    )
    return [
        ("bootstrap", ",".join(addresses)),
        ("logs", f"docker logs --follow {container}"),
        ("enter", f"docker exec -it {container} bash"),
        ("topics", f"{tool} {_topic_tool(description.version)} {at} --describe | grep Topic:"),
        ("quorum", f"krucible quorum describe {at}"),
        ("kill", f"docker kill {container}; again: docker start {container}"),
        ("status", "krucible cluster status"),
        ("from here", f"{compose} up -d"),
        ("take down", f"krucible cluster down {layout.run}"),
    ]


def _topic_tool(version: str) -> str:
    package = "org.apache.kafka.tools" if parse_version(version) >= _FIRST_TOPIC_TOOL else "kafka.admin"
    return f"{package}.TopicCommand"
