"""The catalogue: every scenario by the name that its place under ``scenarios`` gives it."""

import difflib
import importlib
import pkgutil

from checkers.verdict import Validity
from harness.errors import UsageError
from harness.vocabulary.scenario import Expectation, Scenario
from harness.vocabulary.version import parse_version

_ROOM = "scenarios"
AS_GOOD = Expectation(Validity.VALID)


def scenario_names() -> tuple[str, ...]:
    """Names such as ``smoke/partition``, sorted."""
    room = importlib.import_module(_ROOM)
    found = pkgutil.walk_packages(room.__path__, prefix=f"{_ROOM}.")
    return tuple(sorted(_name(module.name) for module in found if not module.ispkg))


def load_scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UsageError: if there is none, with the nearest names.
    """
    names = scenario_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.3)
        raise UsageError(
            f"there is no scenario {name!r}",
            expected=", ".join(near or names),
            next_step="krucible list --scenarios",
        )
    module = importlib.import_module(f"{_ROOM}.{name.replace('/', '.').replace('-', '_')}")
    scenario: Scenario = module.SCENARIO
    return scenario


def expectation_for(scenario: Scenario, version: str) -> Expectation:
    """What the scenario expects of a version; valid where it says nothing."""
    numbers = parse_version(version)
    for expectation in scenario.expectations:
        if expectation.before is None or numbers < parse_version(expectation.before):
            return expectation
    return AS_GOOD


def _name(module: str) -> str:
    return module.removeprefix(f"{_ROOM}.").replace(".", "/").replace("_", "-")
