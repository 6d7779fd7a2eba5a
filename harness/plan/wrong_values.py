"""Values of a scenario that have a wrong type or are out of range.

Structs do not check their fields when they are created, and a scenario is Python, not a decoded document.
"""

import ast
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, get_args

import msgspec

from harness.plan.fields import fields_of
from harness.vocabulary.scenario import Scenario

_EXPECTED = "Expected "


class WrongValue(NamedTuple):
    """A value that a field can't have.

    Attributes:
        field: path to the field, such as ``schedule.steps[0].at_ms``.
        value: the value.
        expected: what the field can have, such as ``int >= 1``.
    """

    field: str
    value: object
    expected: str

    def text(self) -> str:
        """The problem on one line."""
        return f"{self.field} is {self.value!r}, expected {self.expected}"


def wrong_values(scenario: Scenario) -> Iterator[WrongValue]:
    """All wrong values of a scenario, in the order of the fields."""
    return _within("", scenario)


def line_of(found: WrongValue, source: bytes) -> int | None:
    """The line on which a source has this value for this argument; None if no line, or several, have it."""
    name = found.field.rpartition(".")[2]
    given = (
        keyword.value
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == name
    )
    lines = [each.lineno for each in given if _is_constant(each, found.value)]
    return lines[0] if len(lines) == 1 else None


def _within(path: str, struct: msgspec.Struct) -> Iterator[WrongValue]:
    for field in fields_of(type(struct)):
        value = getattr(struct, field.name)
        if value is msgspec.UNSET and msgspec.UnsetType in get_args(field.type):
            continue  # it is not written either
        name = f"{path}.{field.name}" if path else field.name
        deeper = list(_deeper(name, value))
        yield from deeper or _of_field(name, value, field.type)


def _deeper(name: str, value: object) -> Iterator[WrongValue]:
    """Wrong values in the structs that a field has."""
    if isinstance(value, msgspec.Struct):
        return _within(name, value)
    places = enumerate(value) if isinstance(value, tuple) else ()
    return chain.from_iterable(_deeper(f"{name}[{place}]", each) for place, each in places)


def _of_field(name: str, value: object, wanted: object) -> Iterator[WrongValue]:
    """The value of a field, if it is not of the field's type."""
    structs = _structs_of(wanted)
    if structs:
        # A base class has no tags, so that msgspec could not tell which of its subclasses a value is.
        if not isinstance(value, structs):
            yield WrongValue(name, value, " or ".join(each.__name__ for each in structs))
        return
    try:
        given = msgspec.convert(msgspec.to_builtins(value), wanted)
    except msgspec.ValidationError as error:
        expected, _, where = str(error).removeprefix(_EXPECTED).replace("`", "").partition(" - at $")
        yield WrongValue(name, value, f"{expected} in {name}{where}" if where else expected)
    except TypeError as error:
        yield WrongValue(name, value, f"numbers, texts and values of the vocabulary ({error})")
    else:
        if name.endswith("_ms") and isinstance(given, tuple) and list(given) != sorted(given):
            yield WrongValue(name, value, "the shortest first")


def _structs_of(wanted: object) -> tuple[type[msgspec.Struct], ...]:
    """The struct that a type is, or the structs that it is one of; empty for another type."""
    among = get_args(wanted) or (wanted,)
    structs = tuple(each for each in among if isinstance(each, type) and issubclass(each, msgspec.Struct))
    return structs if len(structs) == len(among) else ()


def _is_constant(node: ast.expr, value: object) -> bool:
    try:
        return bool(ast.literal_eval(node) == value)
    except ValueError:
        return False
