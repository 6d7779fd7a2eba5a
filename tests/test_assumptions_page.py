"""docs/assumptions.md has a row for each assumption that a checker can give, and for no other.

The names are read from the code: the first argument of every call of ``Assumption``.  An argument that can't
be resolved fails the test, so that no name is left out silently.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from checkers.runs.coverage import FINAL_REQUESTS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/assumptions.md"
GIVEN = {"group": {"GROUP"}, "f": {f for requests in FINAL_REQUESTS.values() for f in requests}}
"""Values of the expressions in names: the page has a word for all groups."""
COLUMNS = 4


class Code(NamedTuple):
    """A parsed module, with its dotted name."""

    module: str
    tree: ast.Module


def calls(tree: ast.AST, function: str) -> Iterator[ast.Call]:
    """The calls of a function or class, however it was imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == function:
            yield node


def argument(call: ast.Call, name: str, position: int) -> ast.expr:
    """An argument that is given by its name or by its position."""
    return next((given.value for given in call.keywords if given.arg == name), None) or call.args[position]


def names_of(code: Code, name: ast.expr, function: ast.FunctionDef | None) -> set[str]:
    """All values that an expression for a name can have.

    Raises:
        LookupError: it is none of a literal, a constant, a parameter, or a text made of these.
    """
    parameters = [each.arg for each in function.args.args] if function else []
    match name:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.JoinedStr(values=parts):
            options = [sorted(names_of(code, part, function)) for part in parts]
            return {"".join(chosen) for chosen in product(*options)}
        case ast.FormattedValue(value=ast.Attribute(value=ast.Name(id="watch"), attr="key")):
            return {text for call in calls(code.tree, "_Watch") for text in literal(code, call.args[0])}
        case ast.FormattedValue(value=ast.Name(id=variable)) if variable in GIVEN:
            return GIVEN[variable]
        case ast.Name(id=variable) if function and variable in parameters:
            place = parameters.index(variable)
            given = [argument(call, variable, place) for call in calls(code.tree, function.name)]
            return {text for each in given for text in literal(code, each)}
        case ast.Name(id=constant):
            return {str(vars(importlib.import_module(code.module))[constant])}
    raise LookupError(f"{code.module}: the name {ast.unparse(name)} can't be resolved")


def literal(code: Code, name: ast.expr) -> set[str]:
    """The value of an argument that is a literal or a constant."""
    return names_of(code, name, None)


def given_by(code: Code) -> set[str]:
    """The names of all assumptions that a module can give."""
    functions = [node for node in ast.walk(code.tree) if isinstance(node, ast.FunctionDef)]
    found: set[str] = set()
    resolved: set[ast.Call] = set()
    for function in functions:
        for call in calls(function, "Assumption"):
            names = names_of(code, argument(call, "name", 0), function)
            assert names, f"{code.module}: nobody calls {function.name}"
            found |= names
            resolved.add(call)
    assert resolved == {*calls(code.tree, "Assumption")}, f"{code.module}: one is made outside of functions"
    return found


def all_given() -> set[str]:
    """The names of all assumptions that checkers can give."""
    found: set[str] = set()
    for path in sorted((ROOT / "checkers").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found |= given_by(Code(module, ast.parse(path.read_text())))
    return found


def rows() -> list[list[str]]:
    """The cells of the page's rows, without the heads of tables."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_explains_every_assumption_and_no_other() -> None:
    explained = [name for row in rows() for name in re.findall("`([^`]+)`", row[0])]
    assert len(explained) == len(set(explained))
    assert set(explained) == all_given()


def test_every_row_says_what_is_required_what_the_cause_is_and_what_to_do() -> None:
    assert [row for row in rows() if len(row) != COLUMNS or not all(row)] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param('def f(): return Assumption("a", 1)', {"a"}, id="a literal"),
        pytest.param('def f(): return verdict.Assumption(met=1, name="a")', {"a"}, id="by its name"),
        pytest.param('def f(group): return Assumption(f"a {group}")', {"a GROUP"}, id="of each group"),
        pytest.param(
            'def f(x, name): return Assumption(name)\ndef g(): f(1, "a"); f(1, name="b")',
            {"a", "b"},
            id="handed to a function",
        ),
        pytest.param('def f(): return Assumption(f"{watch.key}-b")\n_Watch("a")', {"a-b"}, id="of a watch"),
    ],
)
def test_names_are_found_in_code(text: str, names: set[str]) -> None:
    assert given_by(Code("checkers", ast.parse(text))) == names


@pytest.mark.parametrize(
    "text",
    [
        "def f(): return Assumption(name())",
        'def f(other): return Assumption(f"a {other}")',
        "def f(name): return Assumption(name)",
        'MADE = Assumption("a", 1)',
    ],
)
def test_a_name_that_can_not_be_resolved_is_refused(text: str) -> None:
    with pytest.raises((LookupError, AssertionError)):
        given_by(Code("checkers", ast.parse(text)))
