"""Former names of gambits' moves, in schedules and scenario files of earlier versions of krucible."""

from collections.abc import Mapping

from harness.vocabulary.gambits import (
    AlterChosen,
    ChoosePartition,
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
    "ChooseCopies",
    "DeleteThere",
    "ElectThere",
    "Linger",
    "Mend",
    "MoveThere",
    "RequestThere",
    "Strike",
]
CURRENT_WORDS: Mapping[str, str] = {
    "choose-copies": "choose-partition",
    "strike": "inject-all",
    "mend": "heal-all",
    "linger": "wait-at-most",
    "ask": "request",
    "ask-there": "request-for-chosen",
    "delete-there": "delete-from-chosen",
    "move-there": "reassign-chosen",
    "alter-there": "alter-chosen",
    "elect-there": "elect-chosen",
}
"""Former names of moves and of their operations in schedules, and the current names."""
CURRENT_FIELDS: Mapping[str, str] = {"blows": "faults", "copies": "replicas_min"}
"""Former names of fields of moves, and the current names."""
_TAGS = ("move", "kind")

Ask = Request
AskThere = RequestThere = RequestForChosen
MoveThere = ReassignChosen
AlterThere = AlterChosen
ElectThere = ElectChosen
DeleteThere = DeleteFromChosen
Blow = FaultAt
Mend = HealAll
Linger = WaitAtMost


def ChooseCopies(  # noqa: N802 - a type's name
    draw: int,
    topic: str | None = None,
    copies: int = 2,
    preferred_follows: bool = False,  # noqa: FBT001, FBT002 - a field of the type
    within_ms: int = 15_000,
) -> ChoosePartition:
    """`ChoosePartition` under its former name, with the former name of its argument.

    Args:
        draw: decides among partitions, and among followers.
        topic: the partition's topic; None: any of the workload's.
        copies: the minimum number of replicas.
        preferred_follows: choose only a partition whose preferred leader does not lead.
        within_ms: how long to wait for such a partition.
    """
    return ChoosePartition(draw, topic, copies, preferred_follows, within_ms)


def Strike(blows: tuple[FaultAt, ...], apart_ms: int = 0) -> InjectAll:  # noqa: N802 - a type's name
    """`InjectAll` under its former name, with the former name of its argument.

    Args:
        blows: the faults with their targets.
        apart_ms: time from the beginning of one fault to the beginning of the next, milliseconds.
    """
    return InjectAll(blows, apart_ms)


def in_current_words(value: object) -> object:
    """A stored schedule with the current names of moves.

    Args:
        value: a schedule as decoded JSON; current names stay as they are.
    """
    match value:
        case dict():
            return {CURRENT_FIELDS.get(name, name): _current(name, each) for name, each in value.items()}
        case list():
            return [in_current_words(each) for each in value]
        case _:
            return value


def _current(name: str, value: object) -> object:
    if name in _TAGS and isinstance(value, str):
        return CURRENT_WORDS.get(value, value)
    return in_current_words(value)
