"""An admin operation that runs in the background."""

from harness.nemesis.operator import Operator
from harness.vocabulary.administration import AdminOperation
from harness.workloads.worker import Worker


class Background(Worker):
    """One operation that is requested once; its outcome is in the history.

    Args:
        operator: sends the request.
        operation: the operation.
        timeout_ms: how long the request may take.
        number: number of this operation among those of its script.
    """

    def __init__(self, operator: Operator, operation: AdminOperation, timeout_ms: int, number: int) -> None:
        super().__init__(f"background-{number}")
        self._operator = operator
        self._operation = operation
        self._timeout_ms = timeout_ms

    @property
    def bound_s(self) -> float:
        """How long a silent node may take: one timeout for the connection and one for the answer."""
        return 2 * self._timeout_ms / 1000

    def work(self) -> None:
        """Send the request once."""
        self._operator.perform(self._operation, self._timeout_ms)
