"""Locks between processes, so that an image is built once."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from harness.cluster.folders import cache_folder
from harness.cluster.images.model import Progress


@contextmanager
def build_lock(name: str, progress: Progress) -> Iterator[None]:
    """Hold the lock `name`; a second process waits here until the first one has finished.

    The lock also ends with the process that holds it, even after a kill.
    """
    folder = cache_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process that builds {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
