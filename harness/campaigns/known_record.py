"""A file with the outcomes of known bugs' runs: they count after the store with the runs is gone.

A run counts as long as its command and its scenario are the same, as a stored run does (see `known_runs`).
Its verdict is the one that it had when it was recorded.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Self

import msgspec

from harness.campaigns.known_runs import RecordedScenario, by_now
from harness.errors import UsageError, disk_errors_named
from harness.plan.planning import RunPlan
from results.campaigns.summary import Outcome, RunOutcome
from results.store.runs import RunUnreadableError, load_record, write_whole

_DECIDED = frozenset((Outcome.INVALID, Outcome.VALID))


class RecordedRun(msgspec.Struct, frozen=True):
    """The outcome of a run, and what it was a run of.

    Attributes:
        command: the command that plans the same run again.
        scenario: its schedule, topology, workload and assumptions.
        run: its outcome, without what its checkers judged.
    """

    command: str
    scenario: RecordedScenario
    run: RunOutcome


class _Document(msgspec.Struct, frozen=True):
    """The content of the file: the version of its format, and the runs, by command."""

    krucible_known_runs: Literal[1]
    runs: tuple[RecordedRun, ...]


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

    def add(self, plans: Mapping[int, RunPlan], runs: Mapping[int, RunOutcome]) -> dict[int, RunOutcome]:
        """Record runs, write the file, and return the runs that count, by seed.

        Of the recorded run and the new run of one seed, one that is not as expected counts first, so that no
        surprise is lost and no rate of red runs is too high; then one that is as expected, then an unknown
        one.  A run in which the harness failed is not recorded.

        Args:
            plans: by seed.
            runs: outcomes, by seed.
        """
        before, counted = dict(self._recorded), self.of(plans)
        for seed, run in runs.items():
            plan = plans[seed]
            counted[seed] = max(counted.get(seed, run), run, key=lambda each: _weight(each, plan))
            if counted[seed].outcome is not Outcome.FAILED:
                kept = _without_places(counted[seed])
                self._recorded[plan.reproduce] = RecordedRun(plan.reproduce, RecordedScenario.of(plan), kept)
        if self._path is not None and self._recorded != before:
            with disk_errors_named():
                write_whole(self._path, _encoded(one for _, one in sorted(self._recorded.items())))
        return counted


def _without_places(run: RunOutcome) -> RunOutcome:
    """A run without what its checkers judged, and without its command, which names folders of one host."""
    identity = run.identity and msgspec.structs.replace(run.identity, argv=())
    return msgspec.structs.replace(run, looked=None, identity=identity)


def _encoded(runs: Iterable[RecordedRun]) -> bytes:
    """The document with one run on a line."""
    lines = b",\n".join(map(msgspec.json.encode, runs))
    return b'{"krucible_known_runs":1,"runs":[\n' + lines + b"\n]}\n"


def _weight(run: RunOutcome, plan: RunPlan) -> int:
    if run.outcome in _DECIDED:
        now = by_now(run, plan)
        return 1 if now.undecided else 2 if now.as_expected else 3
    return int(run.outcome is Outcome.UNKNOWN)
