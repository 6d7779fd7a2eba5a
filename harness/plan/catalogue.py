"""The catalogue of scenarios; a scenario's name is its path below ``scenarios``."""

import ast
import difflib
import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from checkers.verdict.verdict import Validity
from harness.errors import UsageError
from harness.vocabulary.known import KnownOutcome
from harness.vocabulary.scenario import Expectation, Scenario
from harness.vocabulary.version import parse_version

_ROOM = "scenarios"
_VALUE = "SCENARIO"
AS_GOOD = Expectation(Validity.VALID)


class Forecast(NamedTuple):
    """What a scenario expects of some versions.

    Attributes:
        since: the oldest of these versions.
        before: all of them are below this version; None: there is no end.
        expectation: the expected verdict, and the feature levels and first versions for which it applies.
    """

    since: str
    before: str | None
    expectation: Expectation


@functools.cache
def scenario_names() -> tuple[str, ...]:
    """Names such as ``smoke/partition``, sorted; each process searches for the files once."""
    room = importlib.import_module(_ROOM)
    return tuple(sorted(_names(room.__path__, "")))


def _names(paths: Iterable[str], folder: str) -> Iterator[str]:
    """Names of the scenarios below a folder; nothing is imported, so one broken file does not hide others."""
    for path in paths:
        for module in pkgutil.iter_modules([path]):
            name = f"{folder}{module.name.replace('_', '-')}"
            if module.ispkg:
                yield from _names([str(Path(path, module.name))], f"{name}/")
            elif folder:
                yield name


def folder_story(folder: str) -> str:
    """What the scenarios of a folder have in common, in one sentence."""
    (room, *_) = importlib.import_module(_ROOM).__path__
    try:
        module = ast.parse(Path(room, folder.replace("-", "_"), "__init__.py").read_bytes())
    except SyntaxError:
        return ""  # each scenario of the folder reports this error
    return ast.get_docstring(module) or ""


def load_scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UsageError: if there is no such scenario (with similar names), or if its file can't be executed.
    """
    names = scenario_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.3)
        raise UsageError(
            f"there is no scenario {name!r}",
            expected=", ".join(near) or f"one of {len(names)} scenarios, such as smoke/partition",
            next_step="krucible list --scenarios",
        )
    try:
        scenario = getattr(importlib.import_module(_module(name)), _VALUE, None)
    except Exception as error:
        raise _broken(name, error_with_line(error, file_of(name)), "Python that can be executed") from error
    if not isinstance(scenario, Scenario):
        raise _broken(name, f"{_VALUE} is {type(scenario).__name__}", f"{_VALUE} = Scenario(…)")
    return scenario


def file_of(name: str) -> Path:
    """The file of a scenario of that name, whether or not it can be imported."""
    (room, *_) = importlib.import_module(_ROOM).__path__
    return Path(room, *name.replace("-", "_").split("/")).with_suffix(".py")


def error_with_line(error: BaseException, path: Path) -> str:
    """The error that occurred while a file was executed, with the last line of the file that was reached."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}: {error.msg}"
    found, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            found = f"line {trace.tb_lineno}: "
        trace = trace.tb_next
    return f"{found}{type(error).__name__}: {error}"


def known_outcomes() -> tuple[KnownOutcome, ...]:
    """Scenarios and versions in which Kafka must break a promise, and those in which it must keep it."""
    known: tuple[KnownOutcome, ...] = importlib.import_module(f"{_ROOM}.known_outcomes").KNOWN
    return known


def expectation_for(scenario: Scenario, version: str, features: Mapping[str, int]) -> Expectation:
    """What the scenario expects of a version and feature levels; valid by default.

    The versions that nodes begin with are those of the scenario's topology.
    """
    begins = min(map(parse_version, scenario.topology.first_versions(version).values()))
    for expectation in scenario.expectations:
        older = _below(parse_version(version), expectation.before)
        older = older and _below(begins, expectation.start_before)
        if older and expectation.features.items() <= features.items():
            return expectation
    return AS_GOOD


def _below(numbers: tuple[int, int, int], bound: str | None) -> bool:
    return bound is None or numbers < parse_version(bound)


def forecasts_of(scenario: Scenario) -> Iterator[Forecast]:
    """The scenario's expectations from its oldest version on, those that can never apply left out.

    Of those for the same version the first whose feature levels and first versions a topology has applies.
    """
    since = scenario.versions_min
    for expectation in scenario.expectations:
        before = expectation.before
        if before is not None and parse_version(before) <= parse_version(since):
            continue
        yield Forecast(since, before, expectation)
        if expectation.features or expectation.start_before is not None:
            continue
        if before is None:
            return
        since = before
    yield Forecast(since, None, AS_GOOD)


def _broken(name: str, got: str, expected: str) -> UsageError:
    return UsageError(
        f"the scenario {name!r} can't be loaded",
        got=got,
        expected=expected,
        where=str(file_of(name)),
        next_step="fix that file; krucible list shows every scenario that can't be loaded",
    )


def _module(name: str) -> str:
    return f"{_ROOM}.{name.replace('/', '.').replace('-', '_')}"
