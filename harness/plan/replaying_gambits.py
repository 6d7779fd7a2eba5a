"""Makes gambits from those of a recorded run, with the same nodes and times; pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.history.courses import CHOOSE, ChoiceMade
from checkers.history.operations import Operation, OperationType
from checkers.history.units import NS_PER_MS
from harness.vocabulary.administration import Drawn, Member
from harness.vocabulary.gambits import Choice, Gambit, GambitMove, Given, Request


class Replayed(NamedTuple):
    """A gambit that is repeated.

    Attributes:
        gambit: the gambit with its recorded times and parts.
        notes: differences from the recorded gambit, one sentence each.
    """

    gambit: Gambit
    notes: tuple[str, ...]


class RecordedGambit(NamedTuple):
    """The record of one gambit.

    Attributes:
        choices: results of the choices that were made, in order.
        began_ns: time of its first operation.
        ended_ns: time of its last operation.
        ended: how it ended; None if the run ended first.
    """

    choices: tuple[Operation, ...]
    began_ns: int
    ended_ns: int
    ended: OperationType | None


def played_in(name: str, operations: Sequence[Operation]) -> RecordedGambit | None:
    """The record of a gambit; None if there is none."""
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
        played: the gambit's record.
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
        elif isinstance(move, Request) and isinstance(move.operation, Drawn):
            notes.append(f"{name}: its requests are resolved again")
        yield move


def _of(name: str, operation: Operation) -> bool:
    if operation.process == "gambits":
        return bool(operation.key == name)
    value = operation.value
    return operation.f in {"inject", "heal"} and isinstance(value, dict) and value.get("gambit") == name
