"""Loads scenarios that are not in the catalogue: Python files that define ``SCENARIO``."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

from harness.errors import UsageError
from harness.plan.catalogue import error_with_line
from harness.plan.wrong_values import line_of, wrong_values
from harness.vocabulary.scenario import Scenario

SUFFIX = ".py"
FOLDER = "files"
"""The folder of a store for runs of such scenarios, whose names are ``files/…``."""
_NAME = "SCENARIO"
_ODD = re.compile(r"[^A-Za-z0-9.]+")
_NEXT_STEP = "write it as docs/write-a-scenario.md says, or name a scenario: krucible list --scenarios"


def is_file(scenario: str) -> bool:
    """Whether an argument names a file: no scenario of the catalogue has such a name."""
    return scenario.endswith(SUFFIX)


def name_of(path: Path) -> str:
    """The name of a file's scenario in the store, such as ``files/lost-writes``."""
    return f"{FOLDER}/{_ODD.sub('-', path.stem).strip('-.') or 'scenario'}"


def load_file(path: Path) -> Scenario:
    """Execute a file and return its scenario.

    Raises:
        UsageError: there is no such file, it can't be executed, or it has no valid scenario.
    """
    scenario = _executed(path).get(_NAME)
    if not isinstance(scenario, Scenario):
        found = "none" if scenario is None else f"a value of type {type(scenario).__name__}"
        raise _refused(path, f"{_NAME} is {found}", f"{_NAME} = Scenario(…), from harness.vocabulary")
    if problems := list(_problems(scenario, path)):
        raise _refused(path, "\n            ".join(problems), "values as the vocabulary describes them")
    return scenario


def _executed(path: Path) -> dict[str, object]:
    if not path.is_file():
        raise _refused(path, "there is no such file", f"a Python file with a {_NAME}")
    try:
        return runpy.run_path(str(path), run_name=path.stem)
    except (Exception, SystemExit) as error:
        expected = "Python that can be " + ("read" if isinstance(error, SyntaxError) else "executed")
        raise _refused(path, error_with_line(error, path), expected) from error


def _problems(scenario: Scenario, path: Path) -> Iterator[str]:
    """All wrong values, with the line where it is certain."""
    source = path.read_bytes()
    for found in wrong_values(scenario):
        line = line_of(found, source)
        yield found.text() if line is None else f"line {line}: {found.text()}"


def _refused(path: Path, got: str, expected: str) -> UsageError:
    return UsageError(
        "that file has no scenario to run",
        got=got,
        expected=expected,
        where=str(path),
        next_step=_NEXT_STEP,
    )
