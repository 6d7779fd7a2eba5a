"""A file with the outcomes of known bugs' runs: they count after the store with the runs is gone.

A run counts as long as its command and its scenario are the same, as a stored run does (see `known_runs`).
Its verdict is the one that it had when it was recorded.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from harness.errors import UsageError, disk_errors_named
from harness.plan.digest import digest_of, digest_of_text
from harness.plan.planning import RunPlan
from results.campaigns.summary import Outcome, RunOutcome
from results.store.runs import RunUnreadableError, load_record, save_record


class RecordedRun(msgspec.Struct, frozen=True):
    """The outcome of a run, and what it was a run of.

    Attributes:
        command: the command that plans the same run again.
        content: digest of its schedule, topology, workload and assumptions.
        run: its outcome.
    """

    command: str
    content: str
    run: RunOutcome


class _Document(msgspec.Struct, frozen=True):
    """The content of the file: the runs, by command."""

    krucible_known_runs: int = 1
    runs: tuple[RecordedRun, ...] = ()


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
            if one is not None and one.content == content_of(plans[seed])
        }

    def add(self, plans: Mapping[int, RunPlan], runs: Mapping[int, RunOutcome]) -> None:
        """Record runs and write the file; a run in which the harness failed is not recorded.

        Args:
            plans: by seed.
            runs: outcomes, by seed.
        """
        before = dict(self._recorded)
        for seed, run in runs.items():
            if run.outcome is not Outcome.FAILED:
                command = plans[seed].reproduce
                self._recorded[command] = RecordedRun(command, content_of(plans[seed]), run)
        if self._path is not None and self._recorded != before:
            with disk_errors_named():
                save_record(
                    self._path, _Document(runs=tuple(one for _, one in sorted(self._recorded.items())))
                )


def content_of(plan: RunPlan) -> str:
    """Digest of everything that a stored run is compared by."""
    scenario = plan.scenario
    assumed = msgspec.structs.replace(scenario.assumptions, why_lowered=None)
    parts = (plan.schedule, scenario.topology, scenario.workload, assumed)
    return digest_of_text(" ".join(map(digest_of, parts)))
