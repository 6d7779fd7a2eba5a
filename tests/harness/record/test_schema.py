"""Whatever recorders can write has a shape, and what they wrote has it."""

import ast
import importlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_args

import msgspec
import pytest

import harness
from checkers.history.fitting import misfit_of
from checkers.history.logged import ELECTED, VOTE
from checkers.history.operations import Operation, OperationType
from checkers.history.runner import OBSERVATIONS
from checkers.history.schema import SHAPES
from harness.evidence import node_logs
from harness.nemesis import operator
from harness.vocabulary.administration import Concrete
from tests.harness.record.test_written_runs import RARE, lines_of
from tests.mutations import recordings

ROOT = Path(harness.__file__).parent.parent
WRITERS = ("cluster", "evidence", "faults", "nemesis", "observers", "record", "run", "workloads")
"""Rooms of the harness whose modules have recorders."""
RECORDING = {"operation": 0, "invoke": 0, "observe": 0, "JournalEntry": 2}
"""What writes an operation, and which of its arguments is the function."""
OBSERVING = {"record", "record_changes"}
"""By what observers write; the first argument is the key."""
GOLDEN = [
    line
    for name in ("faults", "observations")
    for line in (Path(__file__).parent / "golden" / f"{name}.jsonl").read_bytes().splitlines()
]


def functions_of_requests() -> set[str]:
    kinds = (each.__struct_config__.tag for each in get_args(Concrete))
    return {operator._FUNCTIONS.get(str(kind), str(kind)) for kind in kinds}


VARIABLE = {
    "harness/nemesis/operator.py": functions_of_requests(),
    "harness/workloads/offsets_erasing.py": {"commit-offset", "delete-offsets"},
    "harness/workloads/shares_altering.py": {"alter-share-offsets", "delete-share-offsets"},
    "harness/evidence/node_logs.py": {f"observe {key}" for key in (ELECTED, VOTE, *node_logs._KEYS.values())},
    "harness/observers/observer.py": set(),
    "harness/record/journal.py": set(),
    "harness/record/unfinished_journals.py": set(),
}
"""What modules write that name it by a variable; those that write for others have nothing of their own."""


class Written(NamedTuple):
    """What a module writes: names of shapes, and whether some call names none that can be read off."""

    names: set[str]
    variable: bool


def text_of(module: str, argument: ast.expr) -> str | None:
    """The text that an argument is, or that the constant has which it names; None where it is a variable."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    value = getattr(importlib.import_module(module), ast.unparse(argument), None)
    return value if isinstance(value, str) else None


def named_by(module: str, call: ast.Call) -> str | None:
    """The name of the shape of what a call writes."""
    by = called(call)
    f = "observe" if by in OBSERVING else text_of(module, call.args[RECORDING[by]])
    if f != "observe":
        return f
    key = text_of(module, call.args[0 if by in OBSERVING else RECORDING[by] + 1])
    return None if key is None else f"observe {key}"


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def is_writing(path: Path, call: ast.Call) -> bool:
    return called(call) in RECORDING or (path.parent.name == "observers" and called(call) in OBSERVING)


def written_by(path: Path) -> Written:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    nodes = ast.walk(ast.parse(path.read_text()))
    calls = [node for node in nodes if isinstance(node, ast.Call) and is_writing(path, node)]
    found = {named_by(module, call) for call in calls}
    return Written({name for name in found if name is not None}, None in found)


@cache
def written() -> dict[str, Written]:
    """What each module writes that writes anything, by its path."""
    paths = (path for room in WRITERS for path in (ROOT / "harness" / room).rglob("*.py"))
    found = {str(path.relative_to(ROOT)): written_by(path) for path in paths}
    return {path: each for path, each in found.items() if each.names or each.variable}


def misfits(lines: Iterable[bytes]) -> list[str]:
    """What is wrong with lines of journals, each of which has to have a shape."""
    found = []
    for line in lines:
        operation = msgspec.json.decode(line, type=Operation)
        name = f"observe {operation.key}" if operation.f == "observe" else operation.f
        problem = misfit_of(operation) if (name, operation.type) in SHAPES else "has no shape"
        if problem is not None:
            found.append(f"{name} {operation.type}: {problem}")
    return found


def test_modules_whose_calls_do_not_show_what_they_write_are_known() -> None:
    assert {path for path, each in written().items() if each.variable} == VARIABLE.keys()


@pytest.mark.parametrize("path", sorted(written()))
def test_all_that_a_module_can_write_has_a_shape(path: str) -> None:
    names = written()[path].names | VARIABLE.get(path, set())
    alone = {name for name in names if name.split()[0] in OBSERVATIONS}
    expected = {(name, OperationType.OK) for name in alone}
    expected |= {(name, kind) for name in names - alone for kind in OperationType}
    assert expected <= SHAPES.keys()


def test_many_modules_write() -> None:
    names = set().union(*(each.names for each in written().values()))
    assert {"send", "txn", "inject", "recover", "observe quorum", "setup", "end"} <= names


def test_observations_have_the_shape_of_one_line() -> None:
    alone = [kind for name, kind in SHAPES if name.split()[0] in OBSERVATIONS]
    assert set(alone) == {OperationType.OK}


@pytest.mark.parametrize("run", recordings.names())
def test_what_a_run_wrote_has_the_shape_of_its_kind(run: str) -> None:
    assert not misfits(lines_of(run))


def test_what_only_some_runs_wrote_has_the_shape_of_its_kind() -> None:
    assert not misfits([*RARE, *GOLDEN])


@pytest.mark.parametrize(
    ("name", "kind", "key", "value", "problem"),
    [
        (
            "recover",
            OperationType.OK,
            "log-0",
            {"partitions": [{"topic": "t"}]},
            "required field `partition`",
        ),
        ("list-topics", OperationType.OK, "n1:9092", [["t"]], "length 2"),
        ("add-voter", OperationType.OK, 1, {"to": "n1", "directory_id": None}, "required field `code`"),
        ("create-topic", OperationType.INVOKE, "made-1", None, "got `null`"),
        ("inject", OperationType.INVOKE, "f1", {"spec": {}}, "required field `kind`"),
        ("observe", OperationType.OK, "quorum", {"began_ns": 1, "answer": "leader"}, "`leader_id`"),
        ("observe", OperationType.OK, "vote", {"line": 1}, "required field `at`"),
        ("observe", OperationType.OK, "quorum-state", {}, "required field `began_ns`"),
    ],
)
def test_a_value_without_a_required_field_is_a_misfit(
    name: str, kind: OperationType, key: object, value: object, problem: str
) -> None:
    misfit = misfit_of(Operation(0, 0, "p", kind, name, key, value))
    assert misfit is not None
    assert misfit.field == "value"
    assert problem in misfit.problem


@pytest.mark.parametrize("kind", [OperationType.FAIL, OperationType.INFO])
@pytest.mark.parametrize(
    "f", ["recover", "inject", "commit", "describe-producer", "alter-topic", "delete-topic"]
)
def test_a_completion_may_have_no_value(f: str, kind: OperationType) -> None:
    assert misfit_of(Operation(0, 0, 1, kind, f, "key", None)) is None
