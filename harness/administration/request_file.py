"""Stores requests for reassignments: one file per cluster, written before a request is sent."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from harness.administration.requests import Requests
from harness.errors import KrucibleError, disk_errors_named

FILE = "reassignments.json"

T = TypeVar("T")


def place_of(folder: Path | None, cluster_id: str) -> Path:
    """Path of the file: in a krucible cluster's folder, else ``$XDG_STATE_HOME/krucible/<cluster id>.json``.

    Args:
        folder: the cluster's folder, None if krucible did not start the cluster.
        cluster_id: its id.
    """
    if folder is not None:
        return folder / FILE
    base = os.environ.get("XDG_STATE_HOME")
    state = Path(base) if base else Path.home() / ".local" / "state"
    return state / "krucible" / f"{quote(cluster_id, safe='')}.json"


class RequestFile:
    """The requests of one cluster on disk, replaced as a whole under a lock.

    Args:
        path: path of the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Requests:
        """Return all stored requests.

        Raises:
            KrucibleError: the file is damaged or can't be read.
        """
        with disk_errors_named():
            try:
                return msgspec.json.decode(self.path.read_bytes(), type=Requests)
            except FileNotFoundError:
                return Requests()
            except msgspec.MsgspecError as error:
                raise KrucibleError(
                    "the file of requests is damaged",
                    got=str(error),
                    expected="the requests that krucible reassign wrote",
                    where=str(self.path),
                    next_step=f"mv {self.path} {self.path}.damaged; numbers start at 1 again",
                ) from error

    def update(self, change: Callable[[Requests], tuple[Requests, T]]) -> T:
        """Replace the file's content with that from `change`, and return the second result of `change`.

        Raises:
            KrucibleError: the file is damaged or can't be written.
        """
        with disk_errors_named(), self._locked():
            following, result = change(self.read())
            temporary = self.path.with_name(f".{self.path.name}-{os.getpid()}")
            with temporary.open("wb") as file:
                file.write(msgspec.json.encode(following))
                file.flush()
                os.fsync(file.fileno())  # a number that was printed is never assigned again
            temporary.replace(self.path)
        return result

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(f"{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
