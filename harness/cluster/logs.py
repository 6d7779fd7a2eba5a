"""Logs of nodes, saved in the run's folder."""

from collections.abc import Mapping
from pathlib import Path

from harness.cluster.containers import NodeContainers, in_parallel

LOG_FILE = "server.log"


def save_logs(containers: Mapping[str, NodeContainers], folder: Path) -> dict[str, bytes]:
    """Save every node's log as ``nodes/<name>/server.log``, and return them all."""
    names = list(containers)
    logs = dict(zip(names, in_parallel(lambda name: containers[name].logs(), names), strict=True))
    for name, log in logs.items():
        (folder / "nodes" / name / LOG_FILE).write_bytes(log)
    return logs
