"""Makes gambits from those of a recorded run, with the same nodes and times; pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.history.courses import CHOOSE, ChoiceMade
from checkers.history.operations import Operation, OperationType
from checkers.history.units import NS_PER_MS
from harness.vocabulary.administration import Drawn, Member
from harness.vocabulary.gambits import Ask, Choice, Gambit, GambitMove, Given


class Replayed(NamedTuple):
    """A gambit as it is to be played again.

    Attributes:
        gambit: its times and its parts as they were then.
        notes: where it is not what was played, one sentence each.
    """

    gambit: Gambit
    notes: tuple[str, ...]


class RecordedGambit(NamedTuple):
    """What is recorded of one gambit.

    Attributes:
        choices: what came of each of its choices that was made, in order.
        began_ns: of its first operation.
        ended_ns: of its last one.
        ended: how it ended; None if the run ended first.
    """

    choices: tuple[Operation, ...]
    began_ns: int
    ended_ns: int
    ended: OperationType | None


def played_in(name: str, operations: Sequence[Operation]) -> RecordedGambit | None:
    """What is recorded of a gambit; None where nothing is."""
    own = [o for o in operations if _of(name, o)]
    if not own:
        return None
    choices = tuple(o for o in own if o.f == CHOOSE and o.type is OperationType.OK)
    ended = next((o.type for o in own if o.f == "gambit" and o.type is not OperationType.INVOKE), None)
    return RecordedGambit(choices, own[0].time_ns, own[-1].time_ns, ended)


def replayed(
    name: str, gambit: Gambit, played: RecordedGambit, began_ns: int, member: Callable[[str], Member]
) -> Replayed:
    """The gambit with the recorded nodes in its parts, at its recorded time.

    Args:
        name: its name.
        gambit: the planned gambit.
        played: the record of it.
        began_ns: when the schedule began.
        member: a node of the topology by its name.

    Raises:
        LookupError: the topology lacks a recorded node.
    """
    notes: list[str] = []
    moves = tuple(_moves(name, gambit, played, member, notes))
    again = msgspec.structs.replace(
        gambit,
        at_ms=max(0, round((played.began_ns - began_ns) / NS_PER_MS)),
        lasts_ms=round((played.ended_ns - played.began_ns) / NS_PER_MS),
        moves=moves,
    )
    return Replayed(again, tuple(notes))


def _moves(
    name: str, gambit: Gambit, played: RecordedGambit, member: Callable[[str], Member], notes: list[str]
) -> Iterator[GambitMove]:
    choices = iter(played.choices)
    for move in gambit.moves:
        chosen = next(choices, None) if isinstance(move, Choice) else None
        if chosen is not None:
            made = msgspec.convert(chosen.value, ChoiceMade)
            yield Given({part: member(node) for part, node in made.parts.items()}, made.where)
            continue
        if isinstance(move, Choice) and not isinstance(move, Given):
            notes.append(f"{name} made no choice in the recorded run: it chooses again")
        elif isinstance(move, Ask) and isinstance(move.operation, Drawn):
            notes.append(f"{name}: its requests are resolved again")
        yield move


def _of(name: str, operation: Operation) -> bool:
    if operation.process == "gambits":
        return bool(operation.key == name)
    value = operation.value
    return operation.f in {"inject", "heal"} and isinstance(value, dict) and value.get("gambit") == name
