"""An admin operation that runs in the background."""

from harness.nemesis.operator import Operator
from harness.vocabulary.administration import AdminOperation
from harness.workloads.worker import Worker


class Background(Worker):
    """One operation, requested once; what came of it is in the history.

    Args:
        operator: asks.
        operation: what for.
        timeout_ms: how long the request may take.
        number: of this one among those of its script.
    """

    def __init__(self, operator: Operator, operation: AdminOperation, timeout_ms: int, number: int) -> None:
        super().__init__(f"background-{number}")
        self._operator = operator
        self._operation = operation
        self._timeout_ms = timeout_ms

    @property
    def bound_s(self) -> float:
        """How long a node that is silent may take: once to be connected, once to answer."""
        return 2 * self._timeout_ms / 1000

    def work(self) -> None:
        """Ask the cluster once."""
        self._operator.perform(self._operation, self._timeout_ms)
