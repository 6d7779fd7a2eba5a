"""The states of a run beside its verdict, so that a store's runs need not be read again."""

from pathlib import Path

import msgspec

from checkers.reading import HistoryError, read_history
from results.states import ALPHABET, Visited, visited
from results.store import RunUnreadableError, load_record, save_record

STATES_FILE = "states.json"


class _Stored(msgspec.Struct, frozen=True):
    """What a run visited; a transition is the place of a state, an event, and the place of a state."""

    alphabet: int
    states: tuple[str, ...] = ()
    transitions: tuple[tuple[int, str, int], ...] = ()


def visited_in(folder: Path) -> Visited | None:
    """What a run visited, from its folder; written there where it was not yet, or with other words.

    Returns:
        None where the run can't be read: what nobody can tell is no state.

    Raises:
        OSError: it can't be written.
    """
    kept = _kept(folder)
    if kept is not None:
        return kept
    try:
        found = visited(read_history(folder))
    except (HistoryError, KeyError, ValueError, TypeError, AttributeError):
        return None
    save_record(folder / STATES_FILE, _stored(found))
    return found


def _kept(folder: Path) -> Visited | None:
    """What the folder keeps; None where that is nothing, or of no use: it is then made anew."""
    try:
        stored = load_record(folder / STATES_FILE, _Stored)
        return _of(stored) if stored.alphabet == ALPHABET else None
    except (RunUnreadableError, IndexError):
        return None


def _stored(found: Visited) -> _Stored:
    names = tuple(sorted(found.states))
    places = {name: place for place, name in enumerate(names)}
    steps = sorted((places[before], event, places[after]) for before, event, after in found.transitions)
    return _Stored(ALPHABET, names, tuple(steps))


def _of(stored: _Stored) -> Visited:
    names = stored.states
    steps = ((names[before], event, names[after]) for before, event, after in stored.transitions)
    return Visited(frozenset(names), frozenset(steps))
