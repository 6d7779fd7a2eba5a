"""Collects the operations of a history one by one; every operation happens 10 ms after the one before."""

from typing import Any

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from checkers.history.units import NS_PER_MS

STEP_NS = 10 * NS_PER_MS


class OperationStory:
    """Collects operations; `now_ns` is the time of the next one."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.now_ns = 0

    def add(self, process: int | str, kind: OperationType, f: str, key: Any = None, value: Any = None) -> int:
        """One operation; its position."""
        at = len(self.operations)
        self.operations.append(Operation(at, self.now_ns, process, kind, f, key, value))
        assert misfit_of(self.operations[-1]) is None
        self.now_ns += STEP_NS
        return at
