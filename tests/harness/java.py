"""The process of kafka-clients for tests, which are skipped where there is no Java or are no jars."""

from pathlib import Path

import pytest

from harness.clients.interface import EMBEDDED, ClientKind
from harness.clients.java.process import JavaProcess, java_missing
from harness.cluster.folders import cache_folder
from harness.run.java import JARS
from harness.vocabulary.version import DEFAULT_VERSION

KINDS = (*EMBEDDED, ClientKind.JAVA)
"""Every library, in one version."""
_running: list[JavaProcess] = []


def jars() -> list[Path]:
    """The jars of the newest version; skips the test where it can't have them."""
    if reason := java_missing():
        pytest.skip(f"kafka-clients is not offered: {reason}")
    folder = cache_folder() / "jars" / DEFAULT_VERSION
    found = sorted(jar for jar in folder.glob("*.jar") if jar.name.startswith(JARS))
    if not found:
        pytest.skip(
            f"Kafka's jars of {DEFAULT_VERSION} are not here; a run with --image-source maven gets them"
        )
    return found


def running() -> JavaProcess | None:
    """The session's process; None where none was asked for."""
    return _running[0] if _running else None


def start(folder: Path) -> JavaProcess:
    """Start the session's process."""
    _running.append(JavaProcess(jars(), folder))
    return _running[0]


def stop() -> None:
    """End the session's process."""
    _running.pop().close()
