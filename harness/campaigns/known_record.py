"""A file with the outcomes of known bugs' runs: they count after the store with the runs is gone.

A run counts as long as its command and its scenario are the same, as a stored run does (see `known_runs`).
Its verdict is the one that it had when it was recorded.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Self

import msgspec

from harness.campaigns.known_runs import RecordedScenario
from harness.errors import UsageError, disk_errors_named
from harness.plan.planning import RunPlan
from results.campaigns.summary import Outcome, RunOutcome
from results.store.runs import RunUnreadableError, load_record, save_record

_MEANING = {Outcome.INVALID: 3, Outcome.VALID: 2, Outcome.UNKNOWN: 1, Outcome.FAILED: 0}
"""What counts if several runs of the same plan had different outcomes: an anomaly that was seen, was seen."""


class RecordedRun(msgspec.Struct, frozen=True):
    """The outcome of a run, and what it was a run of.

    Attributes:
        command: the command that plans the same run again.
        scenario: its schedule, topology, workload and assumptions.
        run: its outcome.
    """

    command: str
    scenario: RecordedScenario
    run: RunOutcome


class _Document(msgspec.Struct, frozen=True):
    """The content of the file: the version of its format, and the runs, by command."""

    krucible_known_runs: Literal[1]
    runs: tuple[RecordedRun, ...]


def weightier(runs: Iterable[RunOutcome]) -> RunOutcome:
    """Of several runs of the same plan the one that counts: invalid before valid before unknown."""
    return max(runs, key=lambda run: _MEANING[run.outcome])


class KnownRecord:
    """The recorded runs; without a file nothing is recorded.

    Args:
        path: the file; it need not exist.
        recorded: its runs.
    """

    def __init__(self, path: Path | None, recorded: Iterable[RecordedRun] = ()) -> None:
        self._path = path
        self._recorded = {one.command: one for one in recorded}

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read a file.

        Raises:
            UsageError: if the file is not such a record.
        """
        if path is None or not path.exists():
            return cls(path)
        try:
            document = load_record(path, _Document)
        except RunUnreadableError as error:
            raise UsageError(
                "the record can't be read",
                got=str(error),
                expected="a file that krucible track-record --outcomes wrote",
                where=str(path),
                next_step="name another file, or remove this one to begin again",
            ) from error
        return cls(path, document.runs)

    def of(self, plans: Mapping[int, RunPlan]) -> dict[int, RunOutcome]:
        """The recorded runs of these plans, by seed."""
        found = {seed: self._recorded.get(plan.reproduce) for seed, plan in plans.items()}
        return {
            seed: one.run
            for seed, one in found.items()
            if one is not None and not any(one.scenario.differences(plans[seed]))
        }

    def add(self, plans: Mapping[int, RunPlan], runs: Mapping[int, RunOutcome]) -> None:
        """Record runs and write the file; a run in which the harness failed is not recorded.

        If the file has a weightier outcome of the same plan, it stays.

        Args:
            plans: by seed.
            runs: outcomes, by seed.
        """
        before, known = dict(self._recorded), self.of(plans)
        for seed, run in runs.items():
            if run.outcome is not Outcome.FAILED:
                command, kept = plans[seed].reproduce, known.get(seed, run)
                scenario = RecordedScenario.of(plans[seed])
                self._recorded[command] = RecordedRun(command, scenario, weightier((kept, run)))
        if self._path is not None and self._recorded != before:
            with disk_errors_named():
                save_record(self._path, _Document(1, tuple(one for _, one in sorted(self._recorded.items()))))
