"""What guides have: their blocks, and their commands with the exit codes that they are to have."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINES_MAX = 400
"""The most lines that a file of the project may have, also after who follows a guide has changed it."""
BOUND_S = 900


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / name).read_text(), re.DOTALL)


def lines_of(name: str) -> Iterator[tuple[str, int]]:
    """Every command of a guide with the exit code that it is to have."""
    for block in blocks(name, "sh"):
        for line in block.splitlines():
            command, _, comment = line.partition(" #")
            exits = re.search(r"exits with (\d+)", comment)
            yield command.strip(), int(exits[1]) if exits else 0


def ended(folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
    }
    for name in ("KRUCIBLE_RUNS", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    return subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND_S,
    )


def checkout(folder: Path) -> Path:
    """Make a folder a checkout, by links."""
    for name in ("scenarios", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder
