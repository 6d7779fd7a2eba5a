"""Writes scenarios as readable Python source that gives the same value when it is executed."""

import textwrap
from collections.abc import Iterator
from enum import Enum

import msgspec

from harness.plan.fields import fields_of
from harness.vocabulary.scenario import Scenario

_WIDTH = 110
_INDENT = "    "
_THOUSANDS = 1_000
_PIECE_MIN = 8


def write_scenario(scenario: Scenario, docstring: str) -> str:
    """The source of a module that defines the scenario as ``SCENARIO``.

    Args:
        scenario: any scenario that the vocabulary can express.
        docstring: docstring of the module.
    """
    names = sorted(set(_names(scenario)), key=lambda name: (name.casefold(), name))
    imported = "".join(f"{_INDENT}{name},\n" for name in names)
    text = "".join(each if each == "\n" else _shown(each) for each in docstring.replace('"', "'"))
    body = "\n".join(_lines(scenario, "SCENARIO = ", "", 0))
    return f'"""{text}"""\n\nfrom harness.vocabulary import (\n{imported})\n\n{body}\n'


def _names(value: object) -> Iterator[str]:
    """All names of the vocabulary that the source of a value needs."""
    if isinstance(value, Enum):
        yield type(value).__name__
    elif isinstance(value, msgspec.Struct):
        yield type(value).__name__
        for _name, each in _given(value):
            yield from _names(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _names(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _names(each)


def _given(value: msgspec.Struct) -> Iterator[tuple[str, object]]:
    """The fields that differ from their defaults."""
    for field in fields_of(type(value)):
        given = getattr(value, field.name)
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if given != default or type(given) is not type(default):
            yield field.name, given


def _lines(value: object, before: str, after: str, depth: int) -> list[str]:
    """A value with the text before and after it, on one line if it fits."""
    line = f"{_INDENT * depth}{before}{_inline(value)}{after}"
    if len(line) <= _WIDTH:
        return [line]
    if isinstance(value, str):
        return _text_lines(value, before, after, depth)
    opening, closing, items = _parts(value)
    if not items:
        return [line]
    inner = [text for label, item in items for text in _lines(item, label, ",", depth + 1)]
    return [f"{_INDENT * depth}{before}{opening}", *inner, f"{_INDENT * depth}{closing}{after}"]


def _text_lines(text: str, before: str, after: str, depth: int) -> list[str]:
    """A long text as several literals that Python joins."""
    room = _WIDTH - len(_INDENT) * (depth + 1) - 2
    if len(_quoted(text)) > len(text) + 2:  # what is escaped takes more room
        room //= 4
    wrapper = textwrap.TextWrapper(
        max(room, _PIECE_MIN), drop_whitespace=False, replace_whitespace=False, expand_tabs=False
    )
    wrapper.break_on_hyphens = False
    pieces = wrapper.wrap(text)
    inner = [f"{_INDENT * (depth + 1)}{_quoted(piece)}" for piece in pieces]
    return [f"{_INDENT * depth}{before}(", *inner, f"{_INDENT * depth}){after}"]


def _parts(value: object) -> tuple[str, str, list[tuple[str, object]]]:
    """The opening and closing text of a value, and the parts in between with their labels."""
    match value:
        case Enum():
            return "", "", []
        case msgspec.Struct():
            return f"{type(value).__name__}(", ")", [(f"{name}=", each) for name, each in _given(value)]
        case tuple():
            return "(", ")", [("", each) for each in value]
        case dict():
            return "{", "}", [(f"{_inline(key)}: ", each) for key, each in value.items()]
        case _:
            return "", "", []


def _inline(value: object) -> str:
    match value:
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case str():
            return _quoted(value)
        case bool() | None:
            return repr(value)
        case int():
            return f"{value:_}" if abs(value) >= _THOUSANDS else str(value)
        case float():
            return repr(value)
    opening, closing, items = _parts(value)
    if not opening:
        raise TypeError(f"a value of type {type(value).__name__} is no word of the vocabulary")
    inner = ", ".join(f"{label}{_inline(item)}" for label, item in items)
    lonely = "," if isinstance(value, tuple) and len(items) == 1 else ""
    return f"{opening}{inner}{lonely}{closing}"


def _quoted(text: str) -> str:
    """The text in double quotes, as in the rest of the sources."""
    shown = ('\\"' if each == '"' else _shown(each) for each in text)
    return f'"{"".join(shown)}"'


def _shown(character: str) -> str:
    return character if character.isprintable() and character != "\\" else repr(character)[1:-1]
