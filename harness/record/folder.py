"""A run's folder: ``runs/<scenario>/<UTC time>-<seed>/``, with ``latest`` links next to it.

A cluster that no run started has ``runs/clusters/<id>/``, which is not listed as a run.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import KrucibleError, UsageError

RUNS = Path("runs")
SCHEDULE_FILE = "schedule.json"
LATEST = "latest"
_CLUSTERS = "clusters"


def create_run_folder(root: Path, scenario: str, seed: int, now: datetime | None = None) -> Path:
    """Make the folder of a new run; `point_latest` sets the links to it.

    A second run of the same scenario, seed and second gets a suffix.

    Raises:
        KrucibleError: if the folder can't be made.
        UsageError: if compose can't mount its content.
    """
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    parent = root / scenario
    with _refusals_named("the run's folder can't be made", root, parent):
        parent.mkdir(parents=True, exist_ok=True)
        return _first_free(parent, f"{moment}-{seed}")


def point_latest(root: Path, folder: Path) -> None:
    """Point the ``latest`` links of the store and of the scenario at a run, which begins.

    Raises:
        KrucibleError: if they can't be made.
    """
    with _refusals_named("the links to the latest run can't be made", root, folder):
        _point(root / LATEST, folder.relative_to(root))
        _point(folder.parent / LATEST, Path(folder.name))


def place_run(folder: Path, root: Path, scenario: str, name: str) -> Path:
    """Move a run's folder to its place in a store on the same disk, and point the links at it.

    Args:
        folder: the current folder.
        root: the store.
        scenario: scenario of the run.
        name: name of the folder; if that exists already, it gets a suffix.

    Raises:
        OSError: it can't be moved.
    """
    parent = root / scenario
    placed = folder.replace(_first_free(parent, name))  # an empty folder gives way
    _point(root / LATEST, Path(scenario) / placed.name)
    _point(parent / LATEST, Path(placed.name))
    return placed


def create_cluster_folder(root: Path, run: str) -> Path:
    """Make the folder of a cluster that no run started; no ``latest`` link leads to it.

    Its name is the cluster's id, because runs are found by names that begin with a time.

    Raises:
        KrucibleError: if the folder can't be made.
        UsageError: if compose can't mount its content.
    """
    folder = root / _CLUSTERS / run
    with _refusals_named("the cluster's folder can't be made", root, folder):
        folder.mkdir(parents=True)
    return folder


@contextmanager
def _refusals_named(what: str, root: Path, where: Path) -> Iterator[None]:
    if ":" in str(root.absolute()):
        raise UsageError(
            "runs can't be stored in a folder with a colon in its path: compose treats it as a separator",
            got=str(root.absolute()),
            next_step="name another place with --runs",
        )
    try:
        yield
    except OSError as error:
        raise KrucibleError(
            what,
            got=str(error),
            where=str(where),
            next_step="make room, or name another place with --runs",
        ) from error


def _first_free(parent: Path, name: str) -> Path:
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = parent / f"{name}{suffix}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(parent / name)


def _point(link: Path, target: Path) -> None:
    """Replace the link in one step, so that it always exists for readers."""
    temporary = link.with_name(f".{link.name}-{secrets.token_hex(6)}")  # hosts may share the store
    temporary.symlink_to(target)
    temporary.replace(link)
