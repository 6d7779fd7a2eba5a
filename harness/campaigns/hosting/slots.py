"""Slots of a host: the number of clusters that may run on it at the same time; one by default.

A slot is a name in the kernel's abstract namespace of sockets.  Only this host knows it, whereas hosts with a
shared home would share a lock in a file.  It is free once the last process that holds it has ended, for
whatever reason.
"""

import errno
import hashlib
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager

from harness.cluster.engine import engine_address

_POLL_S = 0.5


@contextmanager
def slot(numbers: Iterable[int], given_up: Callable[[], bool]) -> Iterator[int | None]:
    """Wait for a free slot of the host, and hold it for the block.

    Args:
        numbers: numbers of the allowed slots, from 1.
        given_up: whether the slot is no longer needed; then None is yielded.
    """
    wanted = tuple(numbers)
    while not given_up():
        for number in wanted:
            with closing(socket.socket(socket.AF_UNIX)) as door:
                if _taken(door, number):
                    continue
                yield number
                return
        time.sleep(_POLL_S)
    yield None


def _taken(door: socket.socket, number: int) -> bool:
    try:
        door.bind(f"\0krucible/{_engine()}/cluster/{number}")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return True
    return False


def _engine() -> str:
    """A short id of the Docker engine, because a lock's name has at most about 100 bytes."""
    return hashlib.sha256(engine_address().encode()).hexdigest()[:16]
