"""The options of a pytest session, and the files that it writes for CI at its end."""

import os
import random
from pathlib import Path

import msgspec
import pytest

from harness.record.folder import RUNS
from harness.vocabulary.version import VersionShapeError, parse_version

SEED_MAX = 2**63 - 1
_SEEDS = 100_000
FOLDER = "folder"
"""The property that names a run's folder."""


class ItemOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of an item; None leaves a choice to the scenario.

    Attributes:
        seed: seed of the schedule.
        runs: the store that gets the run's folder.
        kafka_version: Kafka's version.
        duration_s: how long the load of a random schedule runs.
        scenario: its name.
        fault: the only kind of fault to draw.
    """

    seed: int
    runs: Path
    kafka_version: str | None = None
    duration_s: int | None = None
    scenario: str = ""
    fault: str | None = None


def configure(config: pytest.Config) -> None:
    """Check the options, draw a seed where none was given, and attach the listener.

    Raises:
        pytest.UsageError: if an option makes no sense.
    """
    option = config.option
    if option.krucible_seed is None:
        option.krucible_seed = random.SystemRandom().randrange(_SEEDS)
    if not 0 <= option.krucible_seed <= SEED_MAX:
        raise pytest.UsageError(f"--seed is {option.krucible_seed}, expected 0 to {SEED_MAX}")
    if option.krucible_kafka_version is not None:
        try:
            parse_version(option.krucible_kafka_version)
        except VersionShapeError as error:
            raise pytest.UsageError(f"--kafka-version: {error}") from error
    if not hasattr(config, "workerinput"):  # xdist's workers report to the session that sums up
        config.pluginmanager.register(Sessions(config), "krucible-session")


def options_of(config: pytest.Config) -> ItemOptions:
    """What the command line asks of every item."""
    option = config.option
    return ItemOptions(
        seed=option.krucible_seed,
        runs=option.krucible_runs or Path(os.environ.get("KRUCIBLE_RUNS") or RUNS),
        kafka_version=option.krucible_kafka_version,
        duration_s=option.krucible_duration_s,
    )


class Sessions:
    """Receives the outcome of every item; writes a CI summary at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._folders: list[Path] = []
        self._broken: list[tuple[str, str]] = []
        self._skipped: list[tuple[str, str]] = []

    def pytest_report_header(self) -> str:
        """What all items have in common."""
        asked = options_of(self._config)
        version = asked.kafka_version or "each scenario's own"
        return f"krucible: seed {asked.seed}, Kafka {version}, runs in {asked.runs}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item left: a run's folder, or why there is none."""
        properties = dict(report.user_properties)
        if report.skipped and isinstance(report.longrepr, tuple):
            self._skipped.append((report.nodeid, report.longrepr[2].removeprefix("Skipped: ")))
        elif report.when == "call" and FOLDER in properties:
            self._folders.append(Path(str(properties[FOLDER])))
        elif report.failed:
            self._broken.append((report.nodeid, report.longreprtext))

    def pytest_sessionfinish(self) -> None:
        """Append to the step summary of a CI job, if this is one."""
        from results.campaigns.step_summary import Skip, append_step_summary  # noqa: PLC0415 - only once
        from results.campaigns.summary import Outcome, RunOutcome, outcome_of  # noqa: PLC0415 - only once

        if not (self._folders or self._broken or self._skipped):
            return
        outcomes = [outcome_of(folder) for folder in self._folders]
        outcomes += [
            RunOutcome(folder=name, outcome=Outcome.FAILED, reasons=tuple(why.splitlines()[:3]))
            for name, why in self._broken
        ]
        append_step_summary("pytest", outcomes, [Skip(*one) for one in self._skipped])
