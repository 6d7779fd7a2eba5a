"""Faults that no checker knows by name: those of a history under other names, with what their words say."""

from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from checkers.history.operations import History, Operation
from harness.vocabulary.faults import Fault
from harness.vocabulary.injected import kind_of

PREFIX = "invented-"
_EFFECTS = ("ends_processes", "silences", "ends_cleanly", "tears_writes", "loses_unsynced", "wipes")
_WORDS = {kind_of(word): word for word in get_args(Fault)}


def invented(history: History, without: Iterable[str] = ()) -> History:
    """The history, with faults of which injections tell what they do, but for some properties."""
    renamed = [_renamed(operation, frozenset(without)) for operation in history.operations]
    return msgspec.structs.replace(history, operations=tuple(renamed))


def unsaid(history: History) -> History:
    """The history, with faults that end processes, and say nothing of disks and of how processes end."""
    return invented(history, _EFFECTS[2:])


def stated(history: History) -> History:
    """The history, with faults whose injections state what they do, as every new run records them."""
    renamed = [_renamed(operation, frozenset(), prefix="") for operation in history.operations]
    return msgspec.structs.replace(history, operations=tuple(renamed))


def _renamed(operation: Operation, without: frozenset[str], prefix: str = PREFIX) -> Operation:
    value: Any = operation.value
    known = operation.f in {"inject", "heal"} and isinstance(value, dict) and value.get("kind") in _WORDS
    if not known:
        return operation
    word = _WORDS[value["kind"]]
    effects = {name: getattr(word, name) for name in _EFFECTS if name not in without}
    declared = {name: effect for name, effect in effects.items() if effect is not None}
    cleared = {name: each for name, each in value.items() if name not in _EFFECTS}
    return msgspec.structs.replace(operation, value=cleared | declared | {"kind": prefix + value["kind"]})
