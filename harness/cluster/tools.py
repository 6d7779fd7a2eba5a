"""Kafka's own tools, run in a container of the run's image beside its nodes, on files of the run's folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import docker
from docker.models.containers import Container

from harness.cluster.containers import FOLDER_LABEL, KEPT_LABEL, OWNER_LABEL, PART_LABEL, RUN_LABEL
from harness.cluster.engine import engine_errors_told
from harness.errors import EngineError

FILES_AT = "/run/krucible/files"
"""Where a tool finds the folder that it is given, which it can't write to."""
_HOST = "krucible-tool"
_JVM = ("@/opt/krucible/kafka.args", "-Xmx128m")
"""A node's options, for its archive of loaded classes: most of what a tool does is to load them."""
_CPU_SHARES = 8 * 1024
"""Eight nodes': the next cluster may be starting on the same processors, and nobody waits for that yet."""
_LABELS = (RUN_LABEL, OWNER_LABEL, FOLDER_LABEL, KEPT_LABEL)


@engine_errors_told()
def run_tool(client: docker.DockerClient, run: str, folder: Path, command: Sequence[str]) -> str:
    """Run a Kafka tool to its end and return what it printed on stdout.

    The container has the image and the user of the run's nodes, no network, and the run's labels, so that it
    is found and removed with the run if the harness dies meanwhile.

    Args:
        client: the engine.
        run: the run's id; one of its nodes at least has a container.
        folder: read by the tool, at `FILES_AT`.
        command: class and arguments.

    Raises:
        EngineError: if the engine refuses, or the tool fails.
    """
    node = _a_node(client, run)
    output = client.containers.run(
        node.attrs["Config"]["Image"],
        [*_JVM, *command],
        entrypoint="java",
        user=node.attrs["Config"]["User"],
        labels=_labels(node.labels),
        network_mode="none",
        cpu_shares=_CPU_SHARES,
        hostname=_HOST,
        extra_hosts={_HOST: "127.0.0.1"},
        volumes={str(folder.resolve()): {"bind": FILES_AT, "mode": "ro"}},
        remove=True,
    )
    return bytes(output).decode(errors="replace")


def _a_node(client: docker.DockerClient, run: str) -> Container:
    filters: dict[str, str | list[str] | bool] = {"label": [f"{RUN_LABEL}={run}", f"{PART_LABEL}=kafka"]}
    found = client.containers.list(all=True, filters=filters, ignore_removed=True)
    if not found:
        raise EngineError("the run has no node any more", got="no container", where=run)
    return found[0]


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: labels[name] for name in _LABELS if name in labels}
