"""Gambits as a run recorded them: nodes, moves and outcome."""

import msgspec

from checkers.history.courses import ChoiceMade
from checkers.history.faults import GambitEnded
from checkers.history.operations import Operation, OperationType


class GambitSeen(msgspec.Struct, kw_only=True):
    """A gambit; fields that were not recorded are empty.

    Attributes:
        id: e.g. ``g1``.
        kind: name of the kind of gambit.
        invoked_ns: when its first choice began; None without a choice.
        parts: names of nodes by part.
        where: the chosen partition, as text.
        outcome: `ok`: completed; `info`: ended early; `fail`: not started; empty: the run ended first.
        planned: number of moves.
        made: number of moves that succeeded.
        error: why it ended early.
    """

    id: str
    kind: str = ""
    invoked_ns: int | None = None
    parts: dict[str, str] = {}
    where: str = ""
    outcome: str = ""
    planned: int = 0
    made: int = 0
    error: str | None = None


class GambitsSeen:
    """Collects the operations of gambits, in their order."""

    def __init__(self) -> None:
        self._seen: dict[str, GambitSeen] = {}

    def choose(self, operation: Operation, time_ns: int) -> None:
        """Add the invocation or the completion of a choice."""
        seen = self._of(operation)
        if seen.invoked_ns is None:
            seen.invoked_ns = time_ns
        if operation.type is OperationType.OK:
            made = msgspec.convert(operation.value, ChoiceMade)
            seen.parts = seen.parts | made.parts
            if made.where is not None:
                topic, number = made.where
                seen.where = f"{topic}/{number}"

    def end(self, operation: Operation, _: int) -> None:
        """Add the end of a gambit."""
        seen = self._of(operation)
        if operation.type is not OperationType.INVOKE:
            ended = msgspec.convert(operation.value, GambitEnded)
            seen.kind, seen.planned, seen.made = ended.kind, ended.planned, ended.made
            seen.outcome, seen.error = str(operation.type.value), operation.error

    def all(self) -> tuple[GambitSeen, ...]:
        """All gambits, in the order of their first records."""
        return tuple(self._seen.values())

    def _of(self, operation: Operation) -> GambitSeen:
        return self._seen.setdefault(str(operation.key), GambitSeen(id=str(operation.key)))
