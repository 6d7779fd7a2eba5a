"""All data of a qualification report as frozen values, and the format of its JSON."""

import msgspec

from results.campaigns.summary import FaultTotal, Spread
from results.campaigns.track_record import SideRecord
from results.qualification.compared import Comparisons
from results.qualification.deciding import Decision, Reason
from results.qualification.finding import CandidateAnomaly, Permitted
from results.qualification.records import QualificationRole, QualificationRun
from results.qualification.spent import Spent


class TriedBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A tested build, as recorded in the runs.

    Attributes:
        asked: as requested.
        versions: versions of Kafka.
        images: reference, digest and checksum of each image; more than one is a gap, and if their jars
            differ, a reason against QUALIFIED.
    """

    asked: str
    versions: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario in one mode on one side.

    Attributes:
        role: the side.
        scenario: name of the scenario.
        mode: mode of the cluster.
        planned: number of planned runs.
        needed: number of runs that need a verdict.
        decided: number of runs with a verdict.
        counts: number of runs by outcome.
        unexpected: number of runs with an unexpected verdict.
        operations: number of operations in all histories.
        acknowledged: number of acknowledged records.
        faults: numbers of attempted and of proven faults, by kind.
    """

    role: QualificationRole
    scenario: str
    mode: str
    planned: int
    needed: int
    decided: int
    counts: dict[str, int]
    unexpected: int
    operations: int
    acknowledged: int
    faults: dict[str, tuple[int, int]]


class FaultKind(msgspec.Struct, frozen=True, kw_only=True):
    """All faults of one kind on one side.

    Attributes:
        role: the side.
        total: number, number of proven ones, unavailability.
        recovery: recovery of the runs whose last fault was of this kind.
    """

    role: QualificationRole
    total: FaultTotal
    recovery: Spread | None


class InterestingState(msgspec.Struct, frozen=True, kw_only=True):
    """An interesting state: number of runs that reached it, among those that can report it.

    `folders` are the candidate's runs that reached it.
    """

    name: str
    label: str
    required: bool
    candidate: int
    candidate_of: int
    baseline: int
    baseline_of: int
    folders: tuple[str, ...] = ()


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one side without a valid or invalid verdict, with the interval of their share."""

    role: QualificationRole
    count: int
    of: int
    low: float
    high: float


class Qualification(msgspec.Struct, frozen=True, kw_only=True):
    """All data of a qualification report.

    Attributes:
        preset: name of the preset.
        decision: the decision by `rule`.
        reasons: reasons against QUALIFIED.
        why: the reason of the decision in one sentence.
        rule: the rule as text.
        generated_at: when the last run ended, ISO 8601 in UTC; empty without runs.
        candidate: the tested version.
        baseline: the version to compare with; None if there is none.
        gaps: what the report can't show, one sentence each.
        claim: what the report shows, in one sentence.
        operations: number of operations in the candidate's histories.
        acknowledged: number of acknowledged records of the candidate.
        faults: number of proven faults of the candidate.
        cells: the matrix.
        found: illegal anomalies.
        permitted: anomalies that were found where they are permitted.
        comparisons: comparisons of candidate and baseline.
        fault_kinds: durations by kind of fault.
        states: coverage.
        undecided: runs without a verdict.
        controls: positive controls.
        commits: commits of krucible.
        hosts: hosts of the runs.
        spent: duration of the runs, including controls, and share of the load.
        runs: runs of both sides.
    """

    preset: str
    decision: Decision
    reasons: tuple[Reason, ...]
    why: str = ""
    rule: str
    generated_at: str
    candidate: TriedBuild
    baseline: TriedBuild | None
    gaps: tuple[str, ...] = ()
    claim: str
    operations: int
    acknowledged: int
    faults: int
    cells: tuple[Cell, ...]
    found: tuple[CandidateAnomaly, ...]
    permitted: tuple[Permitted, ...]
    comparisons: Comparisons
    fault_kinds: tuple[FaultKind, ...]
    states: tuple[InterestingState, ...]
    undecided: tuple[Undecided, ...]
    controls: tuple[SideRecord, ...]
    commits: tuple[str, ...]
    hosts: tuple[str, ...]
    spent: Spent = Spent()
    runs: tuple[QualificationRun, ...]


class ComparisonQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The requested qualification.

    Attributes:
        preset: name of the preset.
        candidate: the candidate, as requested.
        baseline: the baseline, as requested; None if there is none.
        required: names of states that the candidate has to reach.
        withheld: what the matrix leaves out, one sentence each.
    """

    preset: str
    candidate: str
    baseline: str | None
    required: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
