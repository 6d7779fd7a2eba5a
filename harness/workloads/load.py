"""The load of a run: starts, supervises and stops the workers of its workload."""

import time
from collections.abc import Sequence

from harness.workloads.worker import Worker, join_all, raise_failures

STOP_BOUND_S = 30.0


class Load:
    """Workers that continue until they are stopped; every one is a thread with its own journal."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = tuple(workers)

    def start(self) -> None:
        """Let the workers begin."""
        for worker in self._workers:
            worker.start()

    def check(self) -> None:
        """Raise if a worker has died; cheap enough to be called often.

        Raises:
            JournalError: one could not write its history.
            WorkloadError: one died of another error.
        """
        raise_failures(self._workers)

    def stop(self, bound_s: float = STOP_BOUND_S) -> list[str]:
        """Let the workers finish and end; returns complaints about clients that did not close.

        The others go on until those that end first have ended.

        Raises:
            JournalError: a worker could not write its history.
            WorkloadError: one died of another error, or did not end within `bound_s`.
        """
        deadline = time.monotonic() + bound_s
        first = [worker for worker in self._workers if worker.ends_first]
        for worker in first:
            worker.stopping.set()
        for worker in first:
            worker.join(max(0.0, deadline - time.monotonic()))
        for worker in self._workers:
            worker.stopping.set()
        return join_all(self._workers, max(0.0, deadline - time.monotonic()))
