"""Finds the stored runs that count for a known outcome: of the same options, Kafka and scenario.

A scenario of the catalogue may have changed since a run was made.  A run records what its scenario was: the
schedule, the topology, the workload and the assumptions.  If one of them differs, the run shows nothing about
the scenario as it is now.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self, TypedDict

import msgspec

from checkers.history.operations import OK
from checkers.history.reading import HistoryError, read_journals
from checkers.history.setup import SETUP
from checkers.judge import Findings, accepted_with, as_expected
from checkers.verdict.verdict import Validity
from harness.campaigns.sensitivity.stored_runs import RUNNER_JOURNAL, StoredRuns
from harness.cluster.cluster import describe
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.plan.schedule import schedule_from
from harness.record.folder import SCHEDULE_FILE
from results.campaigns.summary import Outcome, RunOutcome


class _SetupParts(TypedDict, total=False):
    """The relevant parts of the value of ``setup``."""

    workload: object
    assumptions: dict[str, object] | None


class RecordedScenario(msgspec.Struct, frozen=True):
    """What the scenario of a run was, as JSON has it; None for a part that can't be read.

    Attributes:
        schedule: its planned schedule.
        topology: its topology.
        workload: its workload; it may have further fields.
        assumptions: its assumptions; None if all had their defaults.
    """

    schedule: object
    topology: object
    workload: object
    assumptions: dict[str, object] | None

    @classmethod
    def of(cls, plan: RunPlan) -> Self:
        """The scenario of a planned run."""
        scenario = plan.scenario
        parts = (plan.schedule, scenario.topology, scenario.workload, scenario.assumptions)
        return cls(*map(msgspec.to_builtins, parts))

    def differences(self, plan: RunPlan) -> Iterator[str]:
        """The parts that differ from a plan.  A field that is newer than the run has its default value."""
        try:
            schedule = schedule_from(self.schedule)
        except msgspec.ValidationError:
            schedule = None
        if schedule != plan.schedule:
            yield "schedule"
        if not _same(self.topology, plan.scenario.topology):
            yield "topology"
        if not _same(self.workload, plan.scenario.workload):
            yield "workload"
        reason = {"why_lowered": plan.scenario.assumptions.why_lowered}
        if not _same((self.assumptions or {}) | reason, plan.scenario.assumptions):
            yield "assumptions"


class KnownRuns(NamedTuple):
    """The stored runs of one side of a known outcome.

    Attributes:
        counted: by seed, the folder of the newest run that counts.
        outdated: for each seed without such a run, one sentence about the newest run that does not count.
    """

    counted: dict[int, Path]
    outdated: tuple[str, ...]


def known_runs(runs: Path, plans: Mapping[int, RunPlan]) -> KnownRuns:
    """Look up the runs of some plans, whichever command made them and however many seeds it had.

    Replays, runs of seeded bugs, and runs that were interrupted do not count.

    Args:
        runs: the store.
        plans: a plan for every seed, all of one scenario.
    """
    stored = StoredRuns(runs / next(iter(plans.values())).options.scenario)
    stored.look()
    counted: dict[int, Path] = {}
    outdated = []
    for seed, plan in plans.items():
        folders = [run.folder for run in stored.of(plan.reproduce)]
        differing = {folder: ", ".join(differences(plan, folder)) for folder in folders}
        if alike := [folder for folder in folders if not differing[folder]]:
            counted[seed] = alike[-1]
        elif folders:
            outdated.append(f"{folders[-1].name} had another {differing[folders[-1]]}")
    return KnownRuns(counted, tuple(outdated))


def differences(plan: RunPlan, folder: Path) -> Iterator[str]:
    """The parts of a run's scenario that differ from a plan, or that can't be read."""
    try:
        schedule = msgspec.json.decode((folder / SCHEDULE_FILE).read_bytes())
    except (OSError, msgspec.DecodeError):
        schedule = None
    try:
        topology = msgspec.to_builtins(describe(folder).topology)
    except KrucibleError:
        topology = None
    setup = _setup(folder)
    recorded = RecordedScenario(schedule, topology, setup.get("workload"), setup.get("assumptions"))
    return recorded.differences(plan)


def by_now(run: RunOutcome, plan: RunPlan) -> RunOutcome:
    """A run's outcome, compared with what is expected now; the run recorded what was expected then."""
    if run.outcome is Outcome.FAILED:
        return run
    expected, illegal = plan.expectation, frozenset(run.illegal)
    accepted = accepted_with(illegal, expected.alone, expected.following)
    undecided = run.outcome is Outcome.UNKNOWN or bool(run.reasons)
    found = Findings(Validity(run.outcome.value), illegal, frozenset(run.open_anomalies), undecided=undecided)
    return msgspec.structs.replace(
        run,
        as_expected=as_expected(found, expected.validity, accepted),
        accepted=found.accepted_by(accepted),
    )


def _setup(folder: Path) -> _SetupParts:
    """The recorded setup of a run; empty if it can't be read."""
    try:
        history = read_journals([folder / RUNNER_JOURNAL])
    except HistoryError:
        return {}
    begun = next((operation for operation in history.of(SETUP) if operation.type is OK), None)
    parts: _SetupParts = {} if begun is None else begun.value
    return parts


def _same(recorded: object, wanted: msgspec.Struct) -> bool:
    """Whether a part of the setup, which may have further fields, is what is wanted."""
    try:
        return msgspec.convert(recorded, type(wanted)) == wanted
    except msgspec.ValidationError:
        return False
