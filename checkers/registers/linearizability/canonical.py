"""Canonical values: operations' values in a hashable form, so that they can be compared.

Two values are equal if and only if their canonical forms are.  As in Clojure and unlike in Python, ``1``,
``1.0`` and ``true`` are three values.  NaN equals itself, because a register that returns the NaN written to
it is correct.
"""

import math
from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet

NESTING_MAX = 100
"""The largest nesting depth of a value; a deeper value is unreadable."""

_SHOWN_CHARACTERS = 60


class UnreadableError(ValueError):
    """A history, or a value in it, has a shape that no rule covers; the verdict is then unknown."""


def canonical(value: object, depth: int = 0) -> Hashable:
    """The hashable form of a value: null, integers and strings are unchanged, others become tagged tuples.

    Raises:
        UnreadableError: where it is nested deeper than `NESTING_MAX`, or of a type that no history has.
    """
    if value is None or type(value) in (int, str):
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else repr(value + 0.0))
    if isinstance(value, bytes):
        return ("bytes", value)
    if isinstance(value, int | str):
        return int(value) if isinstance(value, int) else str(value)
    if depth >= NESTING_MAX:
        raise UnreadableError(f"a value is nested deeper than {NESTING_MAX} levels")
    return _collection(value, depth + 1)


def shown(value: Hashable) -> str:
    """A canonical value as text, shortened if it is long."""
    if isinstance(value, frozenset):
        text = "{" + ", ".join(sorted(map(_plain, value))) + "}"
    else:
        text = _plain(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _collection(value: object, depth: int) -> Hashable:
    if isinstance(value, list | tuple):
        return ("list", *(canonical(item, depth) for item in value))
    if isinstance(value, AbstractSet):
        return ("set", *sorted((canonical(item, depth) for item in value), key=repr))
    if isinstance(value, Mapping):
        pairs = ((canonical(key, depth), canonical(item, depth)) for key, item in value.items())
        return ("map", *sorted(pairs, key=repr))
    raise UnreadableError(f"a value of type {type(value).__name__} cannot be compared")


def _plain(value: Hashable) -> str:
    if value is None:
        return "nil"
    if not isinstance(value, tuple):
        return str(value) if isinstance(value, int) else repr(value)
    tag, *rest = value
    if tag in ("bool", "float"):
        return str(rest[0]).lower()
    if tag == "bytes":
        return repr(rest[0])
    if tag == "map":
        return "{" + ", ".join(f"{_plain(key)}: {_plain(item)}" for key, item in rest) + "}"
    marks = ("[", "]") if tag == "list" else ("#{", "}")
    return marks[0] + " ".join(map(_plain, rest)) + marks[1]
