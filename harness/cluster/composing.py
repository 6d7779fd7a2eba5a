"""Starts a compose file through testcontainers, with the compose binary of the host."""

import os
from functools import cached_property
from pathlib import Path
from subprocess import CalledProcessError

from testcontainers.compose import DockerCompose

from harness.errors import EngineError

COMPOSE_FILE = "compose.yaml"


class _Compose(DockerCompose):
    """Compose of testcontainers, with the binary of this host.

    testcontainers always runs ``<binary> compose``.  docker-compose 1.x is that command itself, and supports
    neither ``--wait`` nor ``ps --format json``.  We wait for Kafka ourselves and find containers by label.
    """

    binary: tuple[str, ...] = ()
    project: str = ""

    @cached_property
    def compose_command_property(self) -> list[str]:
        return [*self.binary, "-p", self.project, "-f", COMPOSE_FILE]


def compose_up(folder: Path, project: str, binary: tuple[str, ...]) -> None:
    """Start the folder's compose file; returns when the containers run.

    Args:
        folder: the run's folder, with ``compose.yaml``.
        project: name of the compose project.
        binary: ``("docker", "compose")`` or ``("docker-compose",)``.

    Raises:
        EngineError: if compose fails, with the end of its output.
    """
    compose = _Compose(context=str(folder), compose_file_name=COMPOSE_FILE, wait=False)
    compose.binary = binary
    compose.project = project
    # Ryuk needs a registry and would remove kept clusters; our labels and the ledger replace it.
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
    try:
        compose.start()
    except CalledProcessError as error:
        lines = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        raise EngineError(
            "the cluster's containers did not start",
            got="; ".join(lines[-5:]),
            where=str(folder / COMPOSE_FILE),
            next_step=f"cd {folder} && {' '.join(binary)} -p {project} up",
        ) from error
