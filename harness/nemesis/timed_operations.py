"""Performs the admin operations of a schedule at their times, in parallel to the faults."""

from checkers.history.operations import OperationType
from checkers.history.units import NS_PER_MS
from harness.nemesis.operator import Operator
from harness.nemesis.timed import Timed
from harness.record.journal import Clock
from harness.vocabulary.scenario import TimedOperation

TIMEOUT_MS = 8_000


class TimedOperations(Timed):
    """Performs admin operations at their times, in one thread; a long operation delays later ones.

    Args:
        operator: performs the operations.
        acts: the operations with their times.
        clock: clock of the run.
    """

    def __init__(self, operator: Operator, acts: tuple[TimedOperation, ...], clock: Clock) -> None:
        super().__init__("acting", "performing admin operations", "operation", len(acts))
        self._operator = operator
        self._acts = acts
        self._clock = clock
        self.performed: list[OperationType] = []

    def work(self) -> None:
        """Wait for each time, then send the request, until stopped."""
        began_ns = self._clock.now_ns()
        for act in sorted(self._acts, key=lambda act: act.at_ms):
            due_ns = began_ns + act.at_ms * NS_PER_MS
            if self.stopping.wait(max(0, due_ns - self._clock.now_ns()) / 1e9):
                return
            self.performed.append(self._operator.perform(act.operation, TIMEOUT_MS).outcome)
            self.done += 1
