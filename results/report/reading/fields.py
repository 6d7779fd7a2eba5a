"""Describes the fields of a recorded object as words: ``partition 1, offset 48, at broker 2, no error``."""

from collections.abc import Mapping
from typing import Any

from checkers.history.error_codes import named_code
from results.markup.cleaning import clean

_LEFT_OUT = frozenset(
    (
        "batches",
        "began_ns",
        "client",
        "ending_ns",
        "ends_processes",
        "glyph",
        "left",
        "prefetches",
        "silences",
        "spec",
        "wall_ms",
    )
)
"""Fields that tell a reader nothing: times of requests, sizes of drawings, what other places show."""
_UNITS = {"ms": "ms", "s": "s", "ns": "ns", "bytes": "bytes"}
_ENTRIES_MAX, _WORD_MAX, _DEPTH_MAX = 6, 60, 2
_MORE = len(", and 99 more fields")


def fields_text(value: Mapping[Any, Any], limit: int) -> str:
    """The fields in words, as many as fit, and the number of the others.

    Args:
        value: an object as the history has it.
        limit: maximum number of characters, approximately.
    """
    told: list[str] = []
    fields = [each for name, entry in value.items() if (each := _field(str(name), entry, 0))]
    for each in fields:
        if told and len(", ".join([*told, each])) > limit - _MORE:
            left = len(fields) - len(told)
            told.append(f"and {left:,} more field{'' if left == 1 else 's'}")
            break
        told.append(each)
    return clean(", ".join(told), limit)


def _field(name: str, value: Any, depth: int) -> str:
    """One field with its name; empty if it is left out."""
    if name in _LEFT_OUT or value is None or value == "":
        return ""
    if name == "code" and isinstance(value, int):
        return named_code(value) if value else "no error"
    if name == "to":
        return f"at broker {value}" if isinstance(value, int) else f"at {_word(value, depth)}"
    words, _, unit = name.rpartition("_")
    if unit in _UNITS and isinstance(value, int | float) and words:
        return f"{words.replace('_', ' ')} {value:,} {_UNITS[unit]}"
    return f"{name.replace('_', ' ')} {_word(value, depth)}"


def _word(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) and value:
        inner = ", ".join(filter(None, (_field(str(n), v, depth + 1) for n, v in value.items())))
        return f"({inner})" if depth < _DEPTH_MAX and len(inner) <= _WORD_MAX else _counted(value, "field")
    if isinstance(value, list):
        return _listed(value, depth)
    return clean("none" if value in (None, {}) else str(value), _WORD_MAX)


def _listed(value: list[Any], depth: int) -> str:
    if not value:
        return "none"
    inner = ", ".join(_word(each, depth + 1) for each in value[:_ENTRIES_MAX])
    if depth >= _DEPTH_MAX or len(value) > _ENTRIES_MAX or len(inner) > _WORD_MAX:
        return _counted(value, "entry")
    return f"[{inner}]"


def _counted(value: Any, what: str) -> str:
    number = len(value)
    several = {"field": "fields", "entry": "entries"}[what]
    return f"({number:,} {what if number == 1 else several})"


def counts_text(counts: Mapping[str, int]) -> str:
    """Numbers with their names, such as ``18 accept, 2 release``."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())
