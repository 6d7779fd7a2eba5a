"""Former names of gambits' moves, in scenario files that earlier versions of ``krucible minimise`` wrote."""

from harness.vocabulary.gambits import (
    AlterChosen,
    DeleteFromChosen,
    ElectChosen,
    FaultAt,
    HealAll,
    InjectAll,
    ReassignChosen,
    Request,
    RequestForChosen,
    WaitAtMost,
)

__all__ = [
    "AlterThere",
    "Ask",
    "AskThere",
    "Blow",
    "DeleteThere",
    "ElectThere",
    "Linger",
    "Mend",
    "MoveThere",
    "RequestThere",
    "Strike",
]

Ask = Request
AskThere = RequestThere = RequestForChosen
MoveThere = ReassignChosen
AlterThere = AlterChosen
ElectThere = ElectChosen
DeleteThere = DeleteFromChosen
Blow = FaultAt
Mend = HealAll
Linger = WaitAtMost


def Strike(blows: tuple[FaultAt, ...], apart_ms: int = 0) -> InjectAll:  # noqa: N802 - a type's name
    """`InjectAll` under its former name, with the former name of its argument.

    Args:
        blows: the faults with their targets.
        apart_ms: time from the beginning of one fault to the beginning of the next, milliseconds.
    """
    return InjectAll(blows, apart_ms)
