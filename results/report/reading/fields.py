"""Describes the fields of a recorded object as words: ``partition 1, offset 48, at broker 2, no error``."""

from collections.abc import Mapping, Sequence, Sized

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
"""Fields without a meaning for readers: times of requests, sizes of drawings, what other places show."""
_UNITS = {"ms": "ms", "s": "s", "ns": "ns", "bytes": "bytes"}
_ENTRIES_MAX, _FIELDS_MAX, _WORD_MAX = 6, 20, 60
_DEPTH_MAX = 2
"""Deeper lists and objects are described by their sizes alone: values may be nested deeper than Python's
recursion limit."""
_MORE = len(", and 99 more fields")


def fields_text(value: Mapping[str, object], limit: int) -> str:
    """The fields in words, as many as fit, and the number of the others.

    Args:
        value: an object as the history has it.
        limit: maximum number of characters, approximately.
    """
    parts: list[str] = []
    fields = [(str(name), entry) for name, entry in value.items() if _is_shown(name, entry)]
    for name, entry in fields:
        each = _field(name, entry, 0)
        if parts and len(", ".join([*parts, each])) > limit - _MORE:
            left = len(fields) - len(parts)
            parts.append(f"and {left:,} more field{'' if left == 1 else 's'}")
            break
        parts.append(each)
    return clean(", ".join(parts), limit)


def _is_shown(name: str, value: object) -> bool:
    return name not in _LEFT_OUT and value is not None and value != ""


def _field(name: str, value: object, depth: int) -> str:
    """One field with its name."""
    if name == "code" and isinstance(value, int):
        return named_code(value) if value else "no error"
    if name == "to":
        return f"at broker {value}" if isinstance(value, int) else f"at {_word(value, depth)}"
    words, _, unit = name.rpartition("_")
    if unit in _UNITS and isinstance(value, int | float) and words:
        return f"{words.replace('_', ' ')} {value:,} {_UNITS[unit]}"
    return f"{name.replace('_', ' ')} {_word(value, depth)}"


def _word(value: object, depth: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) and value:
        return _object(value, depth)
    if isinstance(value, list):
        return _listed(value, depth)
    return clean("none" if value in (None, {}) else str(value), _WORD_MAX)


def _object(value: Mapping[str, object], depth: int) -> str:
    if depth >= _DEPTH_MAX or len(value) > _FIELDS_MAX:
        return f"({size_text(value)})"
    inner = ", ".join(_field(str(n), entry, depth + 1) for n, entry in value.items() if _is_shown(n, entry))
    return f"({inner})" if len(inner) <= _WORD_MAX else f"({size_text(value)})"


def _listed(value: Sequence[object], depth: int) -> str:
    if not value:
        return "none"
    if depth >= _DEPTH_MAX or len(value) > _ENTRIES_MAX:
        return f"({size_text(value)})"
    inner = ", ".join(_word(each, depth + 1) for each in value)
    return f"[{inner}]" if len(inner) <= _WORD_MAX else f"({size_text(value)})"


def size_text(value: Sized) -> str:
    """The number of fields of an object or of entries of a list, such as ``9 entries``."""
    one, several = ("field", "fields") if isinstance(value, dict) else ("entry", "entries")
    return f"{len(value):,} {one if len(value) == 1 else several}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Numbers with their names, such as ``18 accept, 2 release``."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())
