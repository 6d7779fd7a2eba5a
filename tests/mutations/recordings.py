"""Small recorded runs of every workload, decoded once, from which mutations make their histories.

Each is an archive ``recorded/<name>.tar.xz`` with the journals of one run of a real cluster that was judged
valid, and nothing else.
"""

import tarfile
from collections.abc import Collection
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from checkers.history.operations import History
from checkers.history.reading import read_history
from results.pipeline.rows.tabulating import no_collection

RUNS = Path(__file__).parent / "recorded"


def names() -> list[str]:
    """Names of all recorded runs."""
    return sorted(path.name.removesuffix(".tar.xz") for path in RUNS.glob("*.tar.xz"))


def smallest(of: Collection[str], many: int) -> list[str]:
    """Names of the smallest recorded runs among some, the smallest first."""
    there = [name for name in names() if name in of]
    return sorted(there, key=lambda name: (RUNS / f"{name}.tar.xz").stat().st_size)[:many]


@cache
def journals(name: str) -> dict[str, bytes]:
    """Content of each journal of a run, by the name of its file."""
    with tarfile.open(RUNS / f"{name}.tar.xz") as archive:
        found = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        return {file: opened.read() for file, opened in found.items() if opened is not None}


def decoded(files: dict[str, bytes]) -> History:
    """The history that some journals hold, read as `krucible check` reads a run's folder."""
    with TemporaryDirectory() as folder:
        for file, content in files.items():
            (Path(folder) / file).write_bytes(content)
        return read_history(Path(folder))


@cache
@no_collection()
def recorded(name: str) -> History:
    """The history of a run, as it was recorded; nobody may change it."""
    return decoded(journals(name))
