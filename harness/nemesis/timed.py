"""Threads that carry out a part of the schedule at given times, parallel to the main sequence of faults."""

from harness.errors import KrucibleError
from harness.record.journal import describe
from harness.workloads.worker import Worker


class TimedError(KrucibleError):
    """A part of the schedule was not carried out as planned, so a history lacks some of it."""


class Timed(Worker):
    """A thread that acts at given times.

    Args:
        name: name of the thread.
        doing: description of what it does.
        one: the noun for one of its actions.
        planned: number of planned actions.

    Attributes:
        done: number of completed actions.
    """

    def __init__(self, name: str, doing: str, one: str, planned: int) -> None:
        super().__init__(name)
        self._doing = doing
        self._one = one
        self._planned = planned
        self.done = 0

    def hurry(self) -> None:
        """Begin no further action; the current one continues."""
        self.stopping.set()

    def check(self) -> None:
        """Raise if the thread has died; cheap enough to be called often.

        Raises:
            TimedError: an unexpected error ended the thread.
            KrucibleError: any other error that ended it, unchanged: a snapshot of the cluster raises if a
                worker of the load has died, or if a disk is full.
        """
        if isinstance(self.failure, KrucibleError):
            raise self.failure
        if self.failure is not None:
            raise TimedError(
                f"{self._doing} ended unexpectedly",
                got=describe(self.failure),
                expected=f"{self._planned} {self._one}s, {self.done} were done",
                next_step="report this: it is a defect of the harness",
            ) from self.failure

    def end(self, bound_s: float) -> None:
        """Begin no further action, and wait for the current one.

        Raises:
            TimedError: the thread died, or does not end within the bound.
            KrucibleError: the thread died, see `check`.
        """
        self.hurry()
        self.join(bound_s)
        self.check()
        if self.is_alive():
            raise TimedError(
                f"{self._doing} does not end",
                got=f"{self._one} {self.done + 1} of {self._planned} is still in progress",
                expected=f"an end within {bound_s:g} s",
                next_step="report this: all that is done has a deadline of its own",
            )
