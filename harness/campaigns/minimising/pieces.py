"""The pieces of a schedule, and the same schedule with fewer pieces; pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from harness.plan.random_schedules import LEAD_MS
from harness.plan.schedule import Planned
from harness.vocabulary.gambits import Choice, Gambit, GambitMove, HealAll, InjectAll
from harness.vocabulary.moves import Heal, Inject, Move, Perform, ScriptedSchedule
from harness.vocabulary.scenario import FixedSchedule

FAULTS, OPERATIONS, GAMBITS, BLINKS, MOVES = "faults", "operations", "gambits", "blinks", "moves"
KINDS = (BLINKS, OPERATIONS, GAMBITS, FAULTS)
"""The kinds of pieces of a fixed schedule; kinds with many pieces that are rarely needed come first."""


class Piece(NamedTuple):
    """One piece of a schedule: its kind, and its index among those of that kind."""

    kind: str
    place: int


def pieces_of(schedule: Planned) -> tuple[Piece, ...]:
    """All pieces that can be left out separately; in a script a fault with its heal is one piece."""
    if isinstance(schedule, ScriptedSchedule):
        return tuple(
            Piece(_kind_of(move), place)
            for place, move in enumerate(schedule.moves)
            if not isinstance(move, Heal)
        )
    sizes = {
        FAULTS: len(schedule.steps),
        OPERATIONS: len(schedule.acts),
        GAMBITS: len(schedule.gambits),
        BLINKS: len(schedule.blinks),
    }
    return tuple(Piece(kind, place) for kind in KINDS for place in range(sizes[kind]))


def with_pieces(schedule: Planned, pieces: Iterable[Piece]) -> Planned:
    """The schedule with only these pieces."""
    kept = set(pieces)
    if isinstance(schedule, ScriptedSchedule):
        return replace(schedule, moves=tuple(_kept_moves(schedule, {piece.place for piece in kept})))
    return replace(
        schedule,
        steps=tuple(each for place, each in enumerate(schedule.steps) if Piece(FAULTS, place) in kept),
        acts=tuple(each for place, each in enumerate(schedule.acts) if Piece(OPERATIONS, place) in kept),
        gambits=tuple(each for place, each in enumerate(schedule.gambits) if Piece(GAMBITS, place) in kept),
        blinks=tuple(each for place, each in enumerate(schedule.blinks) if Piece(BLINKS, place) in kept),
    )


def spans_of(schedule: FixedSchedule) -> Iterator[tuple[int, int]]:
    """The time at which each piece begins and ends, in ms."""
    yield from ((step.at_ms, step.at_ms + step.hold_ms) for step in (*schedule.steps, *schedule.blinks))
    yield from ((act.at_ms, act.at_ms) for act in schedule.acts)
    yield from ((gambit.at_ms, gambit.at_ms + gambit.lasts_ms) for gambit in schedule.gambits)


def end_ms_of(schedule: FixedSchedule) -> int:
    """The time at which the last piece ends; without any, that at which the first one would begin."""
    return max((end for _begin, end in spans_of(schedule)), default=LEAD_MS)


def begins_ms(schedule: FixedSchedule, piece: Piece) -> int:
    """The time at which a piece begins."""
    if piece.kind == GAMBITS:
        return schedule.gambits[piece.place].at_ms
    if piece.kind == OPERATIONS:
        return schedule.acts[piece.place].at_ms
    return (schedule.steps if piece.kind == FAULTS else schedule.blinks)[piece.place].at_ms


def counts_of(schedule: Planned) -> dict[str, int]:
    """Number of pieces of each kind in a schedule; moves of gambits are counted in addition to gambits."""
    counts = Counter(piece.kind for piece in pieces_of(schedule))
    if isinstance(schedule, FixedSchedule):
        counts[MOVES] = sum(len(gambit.moves) for gambit in schedule.gambits)
    return {kind: count for kind, count in sorted(counts.items()) if count}


def removable_moves(gambit: Gambit) -> tuple[int, ...]:
    """Indices of moves that can be left out; moves that choose nodes are needed by others."""
    return tuple(place for place, move in enumerate(gambit.moves) if not isinstance(move, Choice))


def with_moves(gambit: Gambit, places: Iterable[int]) -> Gambit:
    """The gambit with its choices and these moves; the heal of a removed fault is removed too."""
    kept = set(places)
    moves: list[GambitMove] = []
    begun: set[str] = set()
    for place, move in enumerate(gambit.moves):
        if not isinstance(move, Choice) and place not in kept:
            continue
        if isinstance(move, InjectAll):
            begun |= {aimed.name for aimed in move.faults}
        if isinstance(move, HealAll):
            names = tuple(name for name in move.names if name in begun)
            if not names:
                continue
            move = replace(move, names=names)  # noqa: PLW2901 - the same move with less to do
        moves.append(move)
    return replace(gambit, moves=tuple(moves))


def _kind_of(move: Move) -> str:
    if isinstance(move, Inject):
        return FAULTS
    return OPERATIONS if isinstance(move, Perform) else MOVES


def _kept_moves(schedule: ScriptedSchedule, places: set[int]) -> Iterator[Move]:
    begun: set[str] = set()
    for place, move in enumerate(schedule.moves):
        if isinstance(move, Heal):
            if move.name in begun:
                yield move
        elif place in places:
            if isinstance(move, Inject):
                begun.add(move.name)
            yield move
