"""The krucible of this process: its version and commit. It loads no client of Docker or Kafka."""

import functools
import subprocess
from importlib import metadata
from pathlib import Path

from checkers.history.identity import KrucibleIdentity


def this_krucible() -> KrucibleIdentity:
    """The krucible of this process; its version is empty if the package is not installed."""
    try:
        version = metadata.version("krucible")
    except metadata.PackageNotFoundError:
        version = ""
    return KrucibleIdentity(version=version, commit=commit())


@functools.cache
def commit() -> str:
    """Commit of krucible, with ``-dirty`` if the tree has changes; empty without a checkout.

    It is determined once: a campaign runs the code that it was started with, even if the tree changes later.
    """
    here = Path(__file__).parent
    try:
        commit = _git(here, "rev-parse", "--short=12", "HEAD")
        changes = _git(here, "status", "--porcelain")
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""
    return f"{commit}-dirty" if changes else commit


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
