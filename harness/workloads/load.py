"""The load of a run: starts, supervises and stops the workers of its workload."""

from collections.abc import Sequence

from harness.workloads.worker import Worker, await_end, complaints_of, raise_failures

STOP_BOUND_S = 30.0
ALONE_S = 1.0
"""How long the other workers run after those with `ends_first` have ended, seconds.

The other workers then leave work that nobody does, such as records that no share group acquires.
"""


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
        """Stop the workers after their current operations.

        Workers with `ends_first` are stopped first, and get up to `bound_s` to end.  The other workers are
        stopped `ALONE_S` later.

        Returns:
            Complaints about clients that did not close.

        Raises:
            JournalError: a worker could not write its history.
            WorkloadError: one died of another error, or did not end within `bound_s` of its stop.
        """
        first = [worker for worker in self._workers if worker.ends_first]
        others = [worker for worker in self._workers if not worker.ends_first]
        if first:
            _stop(first, bound_s)
            await_end(others, ALONE_S)
        _stop(others, bound_s)
        return complaints_of(self._workers, bound_s)


def _stop(workers: Sequence[Worker], bound_s: float) -> None:
    for worker in workers:
        worker.stopping.set()
    await_end(workers, bound_s)
