"""Workers: threads whose failures are reported."""

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from harness.clients.interface import ClientFailedError
from harness.clients.java.process import JavaDiedError
from harness.errors import KrucibleError
from harness.record.journal import JournalError, describe

CLOSE_BOUND_S = 5.0


class WorkloadError(KrucibleError):
    """A worker died or did not stop in time, so the history may lack operations."""


class Closable(Protocol):
    """A client that can be closed."""

    def close(self, timeout_s: float) -> None:
        """Close the client, within a time limit.

        Raises:
            ClientFailedError: it did not end in time.
        """
        ...


class Worker(threading.Thread):
    """A thread that works until it is stopped.

    Attributes:
        failure: the exception that ended it, if any.
        complaints: clients that could not be closed; they are reported, but do not end the worker.
        ends_first: whether it is stopped before the other workers, so that these leave work that nobody does;
            see `harness.workloads.load.ALONE_S`.
    """

    ends_first = False

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.failure: BaseException | None = None
        self.complaints: list[str] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        """Work, and keep the exception that ends it."""
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - `join_all` raises it in the thread that waits
            self.failure = error

    def work(self) -> None:
        """Do the worker's task until `stopping` is set."""
        raise NotImplementedError

    def dismiss(self, client: Closable | None) -> bool:
        """Close a client; one that can't be closed is abandoned and reported.

        Returns:
            Whether it has ended.
        """
        if client is None:
            return True
        try:
            client.close(CLOSE_BOUND_S)
        except ClientFailedError as error:
            self.complaints.append(f"{self.name}: {error}")
            return False
        return True


def join_all(workers: Sequence[Worker], bound_s: float) -> list[str]:
    """Wait for workers that were stopped, or end by themselves; returns their complaints.

    Raises:
        JournalError: one could not write its history.
        WorkloadError: one died of another error, or did not end within `bound_s`.
    """
    await_end(workers, bound_s)
    return complaints_of(workers, bound_s)


def await_end(workers: Sequence[Worker], bound_s: float) -> None:
    """Wait until workers have ended, together no longer than `bound_s`."""
    deadline = time.monotonic() + bound_s
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))


def complaints_of(workers: Sequence[Worker], bound_s: float) -> list[str]:
    """Return the complaints of workers that have had `bound_s` to end.

    Raises:
        JournalError: one could not write its history.
        WorkloadError: one died of another error, or has not ended.
    """
    raise_failures(workers)
    late = [worker.name for worker in workers if worker.is_alive()]
    if late:
        raise WorkloadError(
            "workers did not stop",
            got=", ".join(late),
            expected=f"within {bound_s:.0f} s",
            next_step="report this: a client library hangs",
        )
    return [complaint for worker in workers for complaint in worker.complaints]


def raise_failures(workers: Sequence[Worker]) -> None:
    """Raise the error that ended any of the workers.

    Raises:
        JournalError: one could not write its history.
        JavaDiedError: the process of its client has ended.
        WorkloadError: one died of another error.
    """
    failures = [(worker.name, worker.failure) for worker in workers if worker.failure is not None]
    for kind in (JournalError, JavaDiedError):
        for _, failure in failures:
            if isinstance(failure, kind):
                raise failure
    for name, failure in failures:
        raise WorkloadError(
            f"worker {name} died",
            got=describe(failure),
            next_step="report this: it is a defect of the harness",
        ) from failure
