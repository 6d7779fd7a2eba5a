"""Input of a qualification: planned runs and their outcomes."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import msgspec

from checkers.history.identity import RunIdentity
from checkers.verdict.verdict import Anomaly
from results.campaigns.summary import Outcome, RunOutcome, outcome_of
from results.repeats.flakes import content_of
from results.store.runs import RunUnreadableError, load_identity, load_verdict

DECIDED = (Outcome.VALID, Outcome.INVALID)
"""Outcomes that are a verdict about Kafka."""


class QualificationRole(StrEnum):
    """The side of a run."""

    CANDIDATE = "candidate"
    BASELINE = "baseline"


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A planned run.

    Attributes:
        role: the side.
        scenario: name of the scenario.
        mode: mode of the cluster: ``combined`` or ``isolated``; empty if unknown.
        pair: the command without the build; equal for the paired runs of candidate and baseline.
        command: the command that makes the run.
        from_version: the version that nodes begin with; empty if the run has no upgrades.
    """

    role: QualificationRole
    scenario: str
    mode: str
    pair: str
    command: str
    from_version: str = ""


class QualificationRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a planned run.

    Attributes:
        planned: the plan.
        outcome: None if it was not run.
        sightings: one example of each illegal anomaly.
        expected: ids of anomalies that the scenario expects of this version.
        image_checksums: checksums of the files that the image was built from, by name.
    """

    planned: PlannedRun
    outcome: RunOutcome | None = None
    sightings: tuple[Anomaly, ...] = ()
    expected: tuple[str, ...] = ()
    image_checksums: dict[str, str] = {}

    @property
    def judged(self) -> bool:
        """Whether it is valid or invalid, and not undecided, so that it is known which anomalies it has."""
        return self.outcome is not None and is_decided(self.outcome)

    @property
    def decided(self) -> bool:
        """Whether it is valid or invalid, or unknown and nevertheless as expected."""
        return self.judged or (self.outcome is not None and left_open(self.outcome))

    @property
    def identity(self) -> RunIdentity | None:
        """The run's identity; None if it was not run, or can't be read."""
        return self.outcome.identity if self.outcome else None

    @property
    def content(self) -> str:
        """Identifier of the bytes of Kafka; empty if unknown."""
        return content_of(self.identity.image if self.identity else None, self.image_checksums)


class OtherRun(msgspec.Struct, frozen=True):
    """The illegal anomalies of a run of the store that is not part of the matrix.

    Attributes:
        scenario: name of the scenario.
        kafka_version: version of Kafka.
        illegal: ids of illegal anomalies.
        content: as `QualificationRun.content`.
    """

    scenario: str
    kafka_version: str
    illegal: tuple[str, ...]
    content: str = ""


class KnownAnomaly(msgspec.Struct, frozen=True):
    """A known anomaly of the candidate's version.

    Attributes:
        id: id of the anomaly.
        ticket: Kafka's ticket or KIP.
        scenario: the scenario that shows it.
        why: what is known about it.
    """

    id: str
    ticket: str
    scenario: str
    why: str


def run_of(planned: PlannedRun, folder: Path) -> QualificationRun:
    """Read a planned run from its folder; a run without a readable verdict has failed."""
    outcome = outcome_of(folder)
    checksums = _checksums(folder)
    try:
        verdict = load_verdict(folder)
    except RunUnreadableError:
        return QualificationRun(planned=planned, outcome=outcome, image_checksums=checksums)
    first: dict[str, Anomaly] = {}
    for anomaly in (a for result in verdict.results for a in result.anomalies if a.illegal):
        first.setdefault(anomaly.id, anomaly)
    return QualificationRun(
        planned=planned,
        outcome=outcome,
        sightings=tuple(first[name] for name in sorted(first)),
        expected=verdict.expected_anomalies,
        image_checksums=checksums,
    )


def _checksums(folder: Path) -> dict[str, str]:
    """Checksums of the files that the image was built from; empty if they can't be read."""
    try:
        image = load_identity(folder).image
    except RunUnreadableError:
        return {}
    return image.checksums if image else {}


def failed_run(planned: PlannedRun, why: str) -> QualificationRun:
    """A run in which the harness failed before it wrote anything."""
    return QualificationRun(
        planned=planned, outcome=RunOutcome(folder="", outcome=Outcome.FAILED, reasons=(why,))
    )


def of_role(runs: Iterable[QualificationRun], role: QualificationRole) -> tuple[QualificationRun, ...]:
    """The runs of one side."""
    return tuple(run for run in runs if run.planned.role is role)


def is_decided(run: RunOutcome) -> bool:
    """Whether it is known which anomalies a run has: it is valid or invalid, and not undecided."""
    return run.outcome in DECIDED and not run.undecided


def left_open(run: RunOutcome) -> bool:
    """Whether nothing is unknown but whether anomalies that the scenario accepts are permitted."""
    return run.outcome is Outcome.UNKNOWN and run.as_expected is True and bool(run.open_anomalies)


def outcomes(runs: Iterable[QualificationRun]) -> list[RunOutcome]:
    """Outcomes of the runs that were made."""
    return [run.outcome for run in runs if run.outcome is not None]
