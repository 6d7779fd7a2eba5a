"""Reads which modules import which, and how many rooms, arrows and floors a package has.

A room is a module or package directly in the package.  An arrow leads from a room to another one that it
imports.  A room that imports no other is on the first floor.  Every other one is above all that it imports.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple


class Structure(NamedTuple):
    """The rooms of a package, its arrows (importing room, imported room), and the number of its floors."""

    rooms: frozenset[str]
    arrows: frozenset[tuple[str, str]]
    floors: int


BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of a node of a syntax tree that hold statements, or what holds statements."""


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """A module and every statement in it, without expressions: a small part of what `ast.walk` visits."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for field in BODIES:
            within = getattr(node, field, None)
            if isinstance(within, list):
                left += within


@cache
def imported(path: Path) -> frozenset[str]:
    """The names that a file imports, in full: ``from a.b import c`` imports ``a.b.c``, a module or not.

    Each file is read once: many tests ask for all of them.

    Raises:
        ValueError: if an import is relative; this repository has none.
    """
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.module is None or node.level:
                raise ValueError(f"{path}:{node.lineno} has a relative import")
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return frozenset(found)


def is_within(name: str, package: str) -> bool:
    """Whether a name is that of a package or of something in it."""
    return name == package or name.startswith(f"{package}.")


def structure(package: Path) -> Structure:
    """Count the rooms, arrows and floors of a package.

    Raises:
        graphlib.CycleError: if rooms import each other in a circle.
    """
    rooms = frozenset(_room(path, package) for path in package.rglob("*.py")) - {"__init__"}
    arrows = frozenset(
        (room, other)
        for path in package.rglob("*.py")
        if (room := _room(path, package)) in rooms
        for other in _rooms_in(imported(path), package.name)
        if other in rooms - {room}
    )
    below = {room: {other for one, other in arrows if one == room} for room in rooms}
    floors: dict[str, int] = {}
    for room in TopologicalSorter(below).static_order():
        floors[room] = 1 + max((floors[other] for other in below[room]), default=0)
    return Structure(rooms, arrows, max(floors.values(), default=0))


def _room(path: Path, package: Path) -> str:
    return path.relative_to(package).parts[0].removesuffix(".py")


def _rooms_in(names: frozenset[str], package: str) -> Iterator[str]:
    return (name.split(".")[1] for name in names if name.startswith(f"{package}."))
