"""Performs the admin operations of a schedule at their times, beside the faults."""

from checkers.history import OperationType
from harness.errors import KrucibleError
from harness.journal import Clock, describe
from harness.operating.operator import Operator
from harness.vocabulary.scenario import Act
from harness.workloads.worker import Worker

TIMEOUT_MS = 8_000
_NS_PER_MS = 1_000_000


class ActingError(KrucibleError):
    """Admin operations were not performed as planned, so a history lacks some."""


class Acting(Worker):
    """One thread; an operation that takes long delays those after it.

    Args:
        operator: performs them.
        acts: when to do what.
        clock: the run's.
    """

    def __init__(self, operator: Operator, acts: tuple[Act, ...], clock: Clock) -> None:
        super().__init__("acting")
        self._operator = operator
        self._acts = acts
        self._clock = clock
        self.performed: list[OperationType] = []

    def work(self) -> None:
        """Wait for each time, then ask, until told to stop."""
        began_ns = self._clock.now_ns()
        for act in sorted(self._acts, key=lambda act: act.at_ms):
            due_ns = began_ns + act.at_ms * _NS_PER_MS
            if self.stopping.wait(max(0, due_ns - self._clock.now_ns()) / 1e9):
                return
            self.performed.append(self._operator.perform(act.operation, TIMEOUT_MS).outcome)

    def check(self) -> None:
        """Raise if it has died; cheap, to be called now and then.

        Raises:
            ActingError: it died of something that was not meant to happen.
            KrucibleError: anything else that ended it, as it is: whoever looks at the cluster is told
                there of a worker of the load that died, or of a disk that is full.
        """
        if isinstance(self.failure, KrucibleError):
            raise self.failure
        if self.failure is not None:
            raise ActingError(
                "performing admin operations came to an unforeseen end",
                got=describe(self.failure),
                expected=f"{len(self._acts)} operations, {len(self.performed)} were performed",
                next_step="report this: it is a defect of the harness",
            ) from self.failure

    def end(self, bound_s: float) -> None:
        """Begin no further operation, and wait for the one that is going on.

        Raises:
            ActingError: it died, or does not end within the bound.
            KrucibleError: it died, see `check`.
        """
        self.stopping.set()
        self.join(bound_s)
        self.check()
        if self.is_alive():
            raise ActingError(
                "an admin operation does not come to an end",
                got=f"operation {len(self.performed) + 1} of {len(self._acts)} is still going on",
                expected=f"an answer, or none, within {bound_s:g} s",
                next_step="report this: every request has a deadline of its own",
            )
