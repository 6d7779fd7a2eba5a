"""The rules of the house, enforced: sizes, names, imports, and that docs are true."""

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from harness.campaigns.sensitivity.pages import measurements_in
from harness.cli.commands import krucible
from harness.cli.reference_page import render_commands
from harness.cli.runs.catalogue_page import render_catalogue
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.scenario_files import is_file
from results.pages.glossary import render_anomalies
from results.pipeline.tables_page import render_tables
from results.sensitivity import render_comparison
from tests.guides import LINES_MAX
from tests.imports import imported, is_within, statements

ROOT = Path(__file__).parent.parent
ROOMS = ("checkers", "compose", "harness", "results", "scenarios")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
FORBIDDEN_NAMES = {"utils", "util", "helpers", "common", "misc", "manager", "base_classes"}
WORDS_MIN = 3
"""The least number of words of a docstring."""
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


class Source(NamedTuple):
    """What the rules ask of a file.

    Attributes:
        lines: number of its lines.
        described: whether the module has a docstring.
        sizes: lines of each function.
        docstrings: of its module, classes, functions and attributes.
        bases: names of classes, each with one of its bases.
    """

    lines: int
    described: bool
    sizes: tuple[int, ...]
    docstrings: tuple[str, ...]
    bases: tuple[tuple[str, str], ...]


@cache
def source(path: Path) -> Source:
    """Read and parse a file, once for all rules."""
    text = path.read_text()
    tree = ast.parse(text)
    nodes = list(statements(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Source(
        text.count("\n"),
        bool(ast.get_docstring(tree)),
        tuple((node.end_lineno or 0) - node.lineno + 1 for node in functions),
        tuple(text for node in nodes for text in docstrings_at(node)),
        tuple(
            (node.name, ast.unparse(base))
            for node in nodes
            if isinstance(node, ast.ClassDef)
            for base in node.bases
        ),
    )


def importing(package: str) -> set[str]:
    """Folders below the root, two levels deep, of the modules that import a package."""
    users = (p for p in MODULES if any(is_within(name, package) for name in imported(p)))
    return {"/".join(path.relative_to(ROOT).parts[:2]).removesuffix(".py") for path in users}


def test_files_and_functions_stay_small() -> None:
    long_files = [str(path) for path in MODULES if source(path).lines > LINES_MAX]
    sizes = sorted(size for path in MODULES for size in source(path).sizes)

    assert not long_files
    assert sizes[-1] <= 100
    assert sizes[len(sizes) * 95 // 100] <= 45
    assert sizes[len(sizes) // 2] <= 10


def test_no_catch_all_modules() -> None:
    assert not [path for path in MODULES if path.stem in FORBIDDEN_NAMES]


def test_docker_is_imported_only_by_cluster_and_faults() -> None:
    for package in ("docker", "testcontainers"):
        assert importing(package) <= {"harness/cluster", "harness/faults"}


def test_only_services_the_command_line_and_the_pytest_plugin_know_results() -> None:
    users = {place for place in importing("results") if not place.startswith("results")}
    assert users == {"harness/campaigns", "harness/cli", "harness/pytest_plugin"}


def test_every_module_says_what_it_is_for() -> None:
    assert not [str(path) for path in MODULES if not source(path).described]


def docstrings_at(node: ast.AST) -> Iterator[str]:
    """The docstring of a module, class or function, and the strings below the attributes in a body."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        text = ast.get_docstring(node)
        if text is not None:
            yield text
    body = getattr(node, "body", None)
    for before, after in pairwise(body if isinstance(body, list) else []):
        if isinstance(before, ast.Assign | ast.AnnAssign):
            match after:
                case ast.Expr(ast.Constant(str(below))):
                    yield below


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""A module\'s own docstring."""', ["A module's own docstring."]),
        ('A = 1\n"""Unit."""', ["Unit."]),
        ('class A:\n    x: int = 1\n    """Unit."""', ["Unit."]),
        ('def f():\n    """Do it."""', ["Do it."]),
        ('A = 1\nprint("Unit.")', []),
    ],
)
def test_docstrings_of_attributes_are_found(text: str, found: list[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert list(source(path).docstrings) == found


def test_docstrings_have_three_words_at_least() -> None:
    files = [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    found = [(str(path), text) for path in files for text in source(path).docstrings]
    assert len(found) > len(MODULES)
    assert not [each for each in found if len(each[1].split()) < WORDS_MIN]


def subclasses() -> dict[str, set[str]]:
    """The names of each class's direct subclasses in our packages, by the class's own name."""
    found: dict[str, set[str]] = {}
    for name, base in (pair for path in MODULES for pair in source(path).bases):
        found.setdefault(base, set()).add(name)
    return found


def drawn_tree(module: Path) -> dict[str, set[str]]:
    """The tree in a module's docstring: children by parent, four columns a level, the root left out."""
    branches: list[str] = []
    found: dict[str, set[str]] = {}
    for line in (ast.get_docstring(ast.parse(module.read_text())) or "").splitlines():
        if branch := re.match(r"([ │]+)[├└]── (\w+)", line):
            depth = len(branch[1]) // 4
            branches[depth - 1 :] = [branch[2]]
            if depth > 1:
                found.setdefault(branches[depth - 2], set()).add(branch[2])
    return found


def test_the_tree_of_errors_has_every_class_below_its_own_base() -> None:
    tree, classes = drawn_tree(ROOT / "harness/errors.py"), subclasses()
    drawn = {"KrucibleError"}.union(*tree.values())
    assert tree == {name: classes[name] for name in drawn if name in classes}


def commands(path: Path) -> Iterator[list[str]]:
    """Every ``krucible …`` command in a document's code, one a line."""
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", path.read_text(), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words and words[0] == "krucible":
                yield words[1:]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_parse(path: Path) -> None:
    for words in commands(path):
        command: click.Command = krucible
        rest = words
        while isinstance(command, click.Group) and rest:
            found = command.get_command(click.Context(command), rest[0])
            assert found is not None, words
            command, rest = found, rest[1:]
        with command.make_context(" ".join(words), rest, resilient_parsing=False) as context:
            scenario = context.params.get("scenario")
        assert scenario is None or is_file(scenario) or load_scenario(scenario)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_in_documents_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_make_targets_in_documents_exist_and_are_few() -> None:
    shown = subprocess.run(["make", "-C", ROOT, "-s", "help"], capture_output=True, text=True, check=True)
    targets = set(re.findall(r"make (\S+)", shown.stdout))
    named = {t for path in DOCUMENTS for t in re.findall(r"`make ([a-z-]+)`", path.read_text())}

    assert 0 < len(targets) <= 10
    assert named <= targets


def test_generated_pages_are_up_to_date() -> None:
    assert (ROOT / "docs/anomalies.md").read_text() == render_anomalies(), "run: make docs"
    assert (ROOT / "docs/cli.md").read_text() == render_commands(), "run: make docs"
    assert (ROOT / "docs/scenarios.md").read_text() == render_catalogue(), "run: make docs"
    assert (ROOT / "docs/tables.md").read_text() == render_tables(), "run: make docs"


def test_the_page_of_sensitivity_is_that_of_the_outcomes_that_are_committed() -> None:
    page = render_comparison(measurements_in([ROOT / "docs/sensitivity"]))
    assert (ROOT / "docs/sensitivity.md").read_text() == page, "run: make docs"


def test_every_scenario_says_why_in_a_sentence_and_names_a_ticket() -> None:
    for name in scenario_names():
        scenario = load_scenario(name)
        assert scenario.why.endswith("."), name
        assert scenario.summary.endswith("."), name
        assert re.fullmatch(r"(KIP|KAFKA)-\d+(, (KIP|KAFKA)-\d+)*", scenario.ticket or ""), name


def test_nothing_names_a_registry_or_this_machine() -> None:
    hosts = r"https?://[A-Za-z0-9.-]*(pypi|pythonhosted|maven|npmjs|debian|crates|golang)\."
    pattern = f"/{'work'}/|/{'tmp'}/bash_jobs|{hosts}"
    found = subprocess.run(
        ["git", "-C", ROOT, "grep", "-nE", pattern, "--", ".", ":!tests/test_house.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""


def test_nothing_that_is_ignored_is_tracked() -> None:
    words: list[str | Path] = ["git", "-C", ROOT, "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == ""


def test_the_layers_of_architecture_are_the_enforced_ones() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    enforced = {
        contract["containers"][0]: [{*layer.split(" | ")} for layer in contract["layers"]]
        for contract in contracts
        if contract["type"] == "layers" and "." not in contract.get("containers", ["."])[0]
    }
    drawn: dict[str, list[set[str]]] = {}
    room = ""
    block = next(one for one in (ROOT / "ARCHITECTURE.md").read_text().split("```") if "\nharness/\n" in one)
    for line in filter(None, block.splitlines()):
        if line.startswith("  "):
            drawn[room].append({*re.split(r" {2,}", line.strip())[0].split(" | ")})
        else:
            room = line.removesuffix("/")
            drawn[room] = []
    assert drawn == enforced
    assert len(drawn) == 3
