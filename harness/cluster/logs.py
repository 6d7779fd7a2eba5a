"""Logs of nodes, saved in the run's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from harness.cluster.containers import NodeContainers, in_parallel
from harness.errors import EngineError

LOG_FILE = "server.log"


class SavedLogs(NamedTuple):
    """Logs of nodes, by the nodes' names.

    Attributes:
        texts: output of each node, including restarts.
        refused: for the other nodes, the reason why the engine did not return the log.
    """

    texts: dict[str, bytes]
    refused: dict[str, EngineError]

    def complaints(self) -> list[str]:
        """One line for each missing log."""
        return [
            f"the log of {name} could not be fetched: {in_a_line(why)}" for name, why in self.refused.items()
        ]


def save_logs(containers: Mapping[str, NodeContainers], folder: Path) -> SavedLogs:
    """Save every node's log as ``nodes/<name>/server.log``; a failed one does not prevent the others.

    Raises:
        OSError: a log can't be written.
    """
    names = list(containers)
    fetched = dict(zip(names, in_parallel(lambda name: _fetched(containers[name]), names), strict=True))
    saved = SavedLogs(
        {name: log for name, log in fetched.items() if isinstance(log, bytes)},
        {name: why for name, why in fetched.items() if isinstance(why, EngineError)},
    )
    for name, log in saved.texts.items():
        (folder / "nodes" / name / LOG_FILE).write_bytes(log)
    return saved


def in_a_line(error: EngineError) -> str:
    """The engine's refusal and its reason on one line."""
    return " ".join(f"{error.what}: {error.got}".rstrip(": ").split())


def _fetched(containers: NodeContainers) -> bytes | EngineError:
    try:
        return containers.logs()
    except EngineError as error:
        return error
