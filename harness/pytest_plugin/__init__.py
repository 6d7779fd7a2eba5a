"""The pytest plugin: ``pytest scenarios/ --seed 7 --kafka-version 4.3.1`` runs and judges scenarios.

It is loaded by every pytest where krucible is installed, so it does nothing, not even add its options, unless
a path into the scenarios is among the arguments; and it imports next to nothing until then.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parent.parent.parent / "scenarios"
_ACTIVE = pytest.StashKey[bool]()


def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]
) -> None:
    """Add our options where scenarios were requested; elsewhere their names are free."""
    active = any(map(_leads_to_scenarios, args))
    early_config.stash[_ACTIVE] = active
    if active:
        _add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and listen for the summary of a CI job."""
    if config.stash.get(_ACTIVE, False):
        from harness.pytest_plugin.session import configure  # noqa: PLC0415 - see the module's docstring

        configure(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The scenario that a module holds; None for any other file."""
    if parent.config.stash.get(_ACTIVE, False) and file_path.resolve().is_relative_to(ROOM):
        from harness.pytest_plugin.items import scenario_file  # noqa: PLC0415 - see the module's docstring

        return scenario_file(file_path, parent)
    return None


def _leads_to_scenarios(argument: str) -> bool:
    if argument.startswith("-"):
        return False
    try:
        return Path(argument.partition("::")[0]).resolve().is_relative_to(ROOM)
    except (OSError, ValueError, RuntimeError):  # a text that is no path leads nowhere
        return False


def _add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("krucible", "scenarios of krucible")
    group.addoption(
        "--seed",
        type=int,
        dest="krucible_seed",
        metavar="N",
        help="fixes the schedules of all scenarios; drawn and printed if not given",
    )
    group.addoption(
        "--kafka-version",
        dest="krucible_kafka_version",
        metavar="V",
        help="Kafka's version, such as 4.3.1; each scenario's own if not given",
    )
    group.addoption(
        "--krucible-runs",
        type=Path,
        dest="krucible_runs",
        metavar="DIR",
        help="where runs are kept (default: $KRUCIBLE_RUNS, or runs)",
    )
    group.addoption(
        "--scenario-duration-s",
        type=int,
        dest="krucible_duration_s",
        metavar="S",
        help="how long the load of random schedules runs",
    )
