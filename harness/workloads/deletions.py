"""Acknowledged deletions of records, handed to the observers that check them at once."""

import threading
from queue import SimpleQueue

Deleted = tuple[str, int]
"""Topic and partition whose records were deleted."""


class DeletionListeners:
    """Passes deletions to all listeners; all threads of a run share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: list[SimpleQueue[Deleted]] = []

    def heard(self) -> "SimpleQueue[Deleted]":
        """A queue of the deletions that are reported from now on, for one listener."""
        queue: SimpleQueue[Deleted] = SimpleQueue()
        with self._lock:
            self._queues.append(queue)
        return queue

    def acknowledged(self, topic: str, partition: int) -> None:
        """Report an acknowledged deletion of records of a partition."""
        with self._lock:
            for queue in self._queues:
                queue.put((topic, partition))
