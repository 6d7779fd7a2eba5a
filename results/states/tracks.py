"""Step functions over time as columns, laid beside each other: what an actor's states are made from."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.columns import NEVER

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ALWAYS_NS = -1
"""Time of what holds from before the run began."""


class Track(NamedTuple):
    """What held from which time on.

    Attributes:
        time_ns: shape (n,), ascending; of equal times the later row comes after the earlier one.
        rows: shape (n, columns).
    """

    time_ns: Integers
    rows: Integers


class Word(NamedTuple):
    """One field of a state: its name, and what its numbers stand for; an empty text is left out."""

    name: str
    values: tuple[str, ...]


class Visited(NamedTuple):
    """What was seen of some actors.

    Attributes:
        states: as texts.
        transitions: state before, what happened, state after.
    """

    states: frozenset[str]
    transitions: frozenset[tuple[str, str, str]]


NOTHING = Visited(frozenset(), frozenset())


def track(steps: Iterable[tuple[int, ...]], columns: int) -> Track:
    """A track of steps, each a time and a number for every column; steps of equal times keep their order."""
    table = np.array(list(steps), np.int64).reshape(-1, columns + 1)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Track(table[:, 0], table[:, 1:])


def spans(found: Iterable[tuple[int, int, int]], columns: int) -> Track:
    """How many spans are open of each column, of spans with column, beginning and end; none at first.

    What ends at `NEVER` is open to the end.
    """
    edges = [edge for column, from_ns, to_ns in found for edge in ((from_ns, column, 1), (to_ns, column, -1))]
    edges = sorted(edge for edge in edges if edge[0] != NEVER)
    table = np.zeros((len(edges) + 1, columns), np.int64)
    for place, (_, column, change) in enumerate(edges, start=1):
        table[place, column] = change
    times = np.array([ALWAYS_NS, *(edge[0] for edge in edges)], np.int64)
    last = np.append(times[1:] != times[:-1], np.True_)  # what begins and ends at one time is one step
    return Track(times[last], np.cumsum(table, axis=0)[last])


class Beside(NamedTuple):
    """Several tracks beside each other, one row for each step of any, from where all have begun.

    Attributes:
        time_ns: shape (m,), ascending.
        owner: shape (m,), which track stepped.
        places: of each track the place of its row that holds then, shape (m,).
    """

    time_ns: Integers
    owner: Integers
    places: tuple[Integers, ...]


def beside(*tracks: Track) -> Beside:
    """The rows of each track that hold after each step of any; of equal times in the order of the tracks."""
    times = np.concatenate([one.time_ns for one in tracks])
    owner = np.repeat(np.arange(len(tracks)), [len(one.time_ns) for one in tracks])
    order = np.argsort(times, kind="stable")
    owner = owner[order]
    places = [np.cumsum(owner == number) - 1 for number in range(len(tracks))]
    begun = np.min(places, axis=0) >= 0
    return Beside(times[order][begun], owner[begun], tuple(place[begun] for place in places))


def at(one: Track, times_ns: Integers) -> Integers:
    """The row that held at each of some times, shape (times, columns); the first one before it began."""
    return one.rows[np.maximum(np.searchsorted(one.time_ns, times_ns, side="right") - 1, 0)]


def walked(actor: str, words: Sequence[Word], rows: Integers, events: Sequence[str], by: Integers) -> Visited:
    """States and transitions of one actor that went through some rows.

    Args:
        actor: its name, with which each state begins.
        words: one for each column of the rows.
        rows: shape (m, words), in the order of time.
        events: names of what happens; one that is no name makes no transition of a state to itself.
        by: shape (m,), what happened at each row.
    """
    if not len(rows):
        return NOTHING
    unique, codes = np.unique(rows, axis=0, return_inverse=True)
    names = [told(actor, words, row) for row in unique.tolist()]
    codes = codes.reshape(-1)
    steps = np.stack((codes[:-1], by[1:], codes[1:]), axis=1)
    named = np.array([bool(event) for event in events])
    steps = np.unique(steps[(steps[:, 0] != steps[:, 2]) | named[steps[:, 1]]], axis=0)
    found = ((names[before], events[event], names[after]) for before, event, after in steps.tolist())
    return Visited(frozenset(names), frozenset(found))


def told(actor: str, words: Sequence[Word], row: Sequence[int]) -> str:
    """A state as a text: the actor, then every field that has something to say."""
    fields = zip(words, row, strict=True)
    return " ".join([actor, *(_field(word, value) for word, value in fields if word.values[value])])


def _field(word: Word, value: int) -> str:
    return f"{word.name}={word.values[value]}"


def joined(parts: Iterable[Visited]) -> Visited:
    """All that was seen of several actors."""
    kept = list(parts)
    states: frozenset[str] = frozenset().union(*(part.states for part in kept))
    return Visited(states, frozenset().union(*(part.transitions for part in kept)))
