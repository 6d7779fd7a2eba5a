"""All data of a qualification report, as frozen values; the report's JSON has the same."""

import msgspec

from results.campaigns.summary import FaultTotal, Spread
from results.campaigns.track_record import SideRecord
from results.qualification.compared import Comparisons
from results.qualification.deciding import Decision, Reason
from results.qualification.finding import CandidateAnomaly, Permitted
from results.qualification.records import QualificationRole, QualificationRun
from results.qualification.spent import Spent


class TriedBuild(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried, as it was found in the runs.

    Attributes:
        asked: as it was requested.
        versions: of Kafka.
        images: reference, digest and checksum of each image; more than one is a gap, and if they hold other
            jars, a reason.
    """

    asked: str
    versions: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario in one mode on one side.

    Attributes:
        role: its side.
        scenario: its name.
        mode: of the cluster.
        planned: number of planned runs.
        needed: number of runs that need a verdict.
        decided: number of runs with a verdict.
        counts: runs by outcome.
        unexpected: runs with a verdict other than the expected one.
        operations: of all its histories.
        acknowledged: records.
        faults: kind to those attempted and those proven.
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
        role: whose they are.
        total: their number, how many were proven, their unavailability.
        recovery: of the runs whose last fault was of this kind.
    """

    role: QualificationRole
    total: FaultTotal
    recovery: Spread | None


class InterestingState(msgspec.Struct, frozen=True, kw_only=True):
    """One interesting state: in how many runs it was reached, of those that could report.

    The candidate's runs that reached it are `folders`.
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
    """Runs of one side that came to no verdict that says anything, with the interval of their share."""

    role: QualificationRole
    count: int
    of: int
    low: float
    high: float


class Qualification(msgspec.Struct, frozen=True, kw_only=True):
    """All data of a qualification report.

    Attributes:
        preset: what was planned.
        decision: the decision by `rule`.
        reasons: reasons against QUALIFIED.
        why: the decision's reason in a sentence.
        rule: the rule as a text.
        generated_at: when the last run ended, ISO 8601 in UTC; empty without runs.
        candidate: the tested version.
        baseline: the version that it is compared to; None if there is none.
        gaps: what this report can't show, a sentence each.
        claim: what it shows, in a sentence.
        operations: number of operations in the candidate's histories.
        acknowledged: number of acknowledged records of the candidate.
        faults: number of proven faults of the candidate.
        cells: the matrix.
        found: illegal anomalies.
        permitted: anomalies that were seen and are permitted.
        comparisons: candidate and baseline.
        fault_kinds: durations by kind of fault.
        states: coverage.
        undecided: runs without a verdict.
        controls: positive controls.
        commits: commits of krucible.
        hosts: hosts of the runs.
        spent: how long the runs took, controls included, and how much of it was load.
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
    """What was asked.

    Attributes:
        preset: its name.
        candidate: as it was requested.
        baseline: as it was requested; None: there is none.
        required: names of states that the candidate has to reach.
        withheld: what the matrix leaves out, a sentence each.
    """

    preset: str
    candidate: str
    baseline: str | None
    required: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
