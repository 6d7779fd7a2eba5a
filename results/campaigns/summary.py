"""Summarizes several runs: totals, and one row for each run."""

import statistics
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from checkers.history.identity import KrucibleIdentity, RunIdentity
from checkers.judge import accepted, illegal_ids, open_ids
from checkers.verdict.verdict import Verdict
from results.campaigns.extent import CheckerTotal, Looked, looked_at, totals
from results.repeats.flakes import content_of
from results.run.causes import (
    KindsTogether,
    cause_lines,
    illegal_causes,
    kinds_together,
    other_reasons,
    severity,
)
from results.run.measures import Measures, load_measures
from results.store.judges import UNKNOWN, load_judge
from results.store.runs import RunUnreadableError, anomaly_counts, load_identity, load_verdict

REASONS_MAX = 3
CAUSES_MAX = 5
"""Maximum number of causes of a run with their own line."""


class Outcome(StrEnum):
    """Outcome of one or more runs, from the most severe."""

    INVALID = "invalid"
    FAILED = "failed"
    """The harness failed, so that there is no verdict."""
    UNKNOWN = "unknown"
    VALID = "valid"


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a campaign.

    Attributes:
        folder: name of its folder.
        outcome: its verdict, or failed.
        as_expected: None without an expectation or a verdict.
        identity: None if it can't be read.
        anomalies: number of anomalies by id.
        illegal: ids of illegal anomalies; the others were found where they are permitted.
        open_anomalies: ids of the anomalies that may be permitted or not, if nothing else is undecided.
        accepted: whether it is invalid and its scenario accepts all its illegal anomalies.
        causes: one line for each illegal cause; the last line counts the rest.
        together: all illegal causes, by their kinds.
        reasons: other reasons why it is not valid, or why it failed.
        measures: its numbers; None if they were not stored.
        looked: how much its checkers judged; None if it was not judged.
        judged_by: the krucible that gave its verdict.
    """

    folder: str
    outcome: Outcome
    as_expected: bool | None = None
    identity: RunIdentity | None = None
    anomalies: dict[str, int] = {}
    illegal: tuple[str, ...] = ()
    open_anomalies: tuple[str, ...] = ()
    accepted: bool = False
    causes: tuple[str, ...] = ()
    together: tuple[KindsTogether, ...] = ()
    reasons: tuple[str, ...] = ()
    measures: Measures | None = None
    looked: Looked | None = None
    judged_by: KrucibleIdentity = UNKNOWN

    @property
    def undecided(self) -> bool:
        """Whether it is invalid with accepted anomalies alone, and its checkers could not decide everything.

        It then says no more about other anomalies than an unknown run.
        """
        return self.accepted and self.as_expected is False

    @property
    def why(self) -> tuple[str, ...]:
        """Why it is not valid: causes, then other reasons."""
        return (*self.causes, *self.reasons)


class AnomalyTotal(msgspec.Struct, frozen=True):
    """Anomalies of one id: number, runs, and number of runs in which they are illegal."""

    id: str
    count: int
    illegal_runs: int
    seeds: tuple[int | None, ...]


class CauseTotal(msgspec.Struct, frozen=True):
    """Illegal causes with the same kinds of anomalies: numbers of causes and anomalies, and the runs."""

    kinds: tuple[str, ...]
    causes: int
    anomalies: int
    seeds: tuple[int | None, ...]


class Spread(msgspec.Struct, frozen=True):
    """Median and maximum of some durations, ms."""

    median_ms: int
    max_ms: int


class FaultTotal(msgspec.Struct, frozen=True, kw_only=True):
    """All faults of one kind: number, number of proven ones, unavailability."""

    kind: str
    count: int
    proven: int
    unavailable: Spread | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of several runs.

    Attributes:
        outcome: the most severe outcome of the runs: invalid, then failed, then unknown.
        counts: number of runs by outcome, including 0.
        as_expected: number of runs with the expected verdict.
        unexpected: number of runs with another verdict.
        sent_ok: acknowledged records of all runs; `sent_info` and `sent_fail` likewise.
        anomalies: anomalies by id.
        causes: illegal causes by their kinds, the most severe kind first.
        faults: faults by kind.
        recovery: recovery times of the runs that recovered.
        checkers: how much checkers judged.
        runs: in the order of their seeds.
    """

    outcome: Outcome
    counts: dict[str, int]
    as_expected: int
    unexpected: int
    sent_ok: int
    sent_info: int
    sent_fail: int
    anomalies: tuple[AnomalyTotal, ...]
    faults: tuple[FaultTotal, ...]
    recovery: Spread | None
    checkers: tuple[CheckerTotal, ...]
    runs: tuple[RunOutcome, ...]
    causes: tuple[CauseTotal, ...] = ()


def outcome_of(folder: Path) -> RunOutcome:
    """Read the outcome of a run; a run without a readable verdict has failed, with the reason."""
    identity: RunIdentity | None = None
    measures: Measures | None = None
    try:
        identity = _slim(load_identity(folder))
        verdict, by = load_verdict(folder), load_judge(folder)
    except RunUnreadableError as error:
        return RunOutcome(
            folder=folder.name, outcome=Outcome.FAILED, identity=identity, reasons=(str(error),)
        )
    try:
        measures = load_measures(folder)
    except RunUnreadableError:
        measures = None
    return judged(folder.name, verdict, identity, measures, by)


def judged(
    folder: str,
    verdict: Verdict,
    identity: RunIdentity | None = None,
    measures: Measures | None = None,
    by: KrucibleIdentity = UNKNOWN,
) -> RunOutcome:
    """The outcome of a run with a verdict."""
    causes = illegal_causes(verdict)
    return RunOutcome(
        folder=folder,
        outcome=Outcome(verdict.validity.value),
        as_expected=verdict.as_expected,
        identity=_slim(identity),
        anomalies=anomaly_counts(verdict),
        illegal=tuple(sorted(illegal_ids(verdict.results))),
        open_anomalies=tuple(sorted(open_ids(verdict.results))),
        accepted=accepted(verdict),
        causes=cause_lines(causes, CAUSES_MAX),
        together=kinds_together(causes),
        reasons=other_reasons(verdict)[:REASONS_MAX],
        measures=measures,
        looked=looked_at(verdict.results),
        judged_by=by,
    )


def summarise(runs: Iterable[RunOutcome]) -> Summary:
    """Summarize runs; without runs the outcome is unknown."""
    ordered = tuple(sorted(runs, key=lambda run: (_seed(run) is None, _seed(run) or 0, run.folder)))
    counts = {outcome.value: sum(run.outcome is outcome for run in ordered) for outcome in Outcome}
    measured = [run.measures for run in ordered if run.measures is not None]
    return Summary(
        outcome=worst(run.outcome for run in ordered),
        counts=counts,
        as_expected=sum(run.as_expected is True for run in ordered),
        unexpected=sum(run.as_expected is False for run in ordered),
        sent_ok=sum(measures.sent_ok for measures in measured),
        sent_info=sum(measures.sent_info for measures in measured),
        sent_fail=sum(measures.sent_fail for measures in measured),
        anomalies=_anomalies(ordered),
        causes=_causes(ordered),
        faults=_faults(measured),
        recovery=_spread([m.recovery_ms for m in measured if m.recovered and m.recovery_ms is not None]),
        checkers=totals(run.looked for run in ordered if run.looked is not None),
        runs=ordered,
    )


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The most severe of several outcomes; unknown if there are none."""
    gravity = list(Outcome)
    return min(outcomes, key=gravity.index, default=Outcome.UNKNOWN)


def encode_summary(summary: Summary) -> bytes:
    """A summary as JSON."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def _slim(identity: RunIdentity | None) -> RunIdentity | None:
    """Replace the checksums of all files by one. The run's own folder has all checksums."""
    if identity is None or identity.image is None:
        return identity
    sums = identity.image.checksums
    one = {"jars": content_of(identity.image, sums)} if sums else {}
    image = msgspec.structs.replace(identity.image, checksums=one)
    return msgspec.structs.replace(identity, image=image)


def _seed(run: RunOutcome) -> int | None:
    return run.identity.seed if run.identity else None


def _anomalies(runs: Sequence[RunOutcome]) -> tuple[AnomalyTotal, ...]:
    ids = sorted({anomaly_id for run in runs for anomaly_id in run.anomalies})
    return tuple(
        AnomalyTotal(
            anomaly_id,
            sum(run.anomalies.get(anomaly_id, 0) for run in runs),
            sum(anomaly_id in run.illegal for run in runs),
            tuple(_seed(run) for run in runs if anomaly_id in run.anomalies),
        )
        for anomaly_id in ids
    )


def _causes(runs: Sequence[RunOutcome]) -> tuple[CauseTotal, ...]:
    found = [(run, one) for run in runs for one in run.together]
    return tuple(
        CauseTotal(
            kinds,
            sum(one.causes for _, one in found if one.kinds == kinds),
            sum(one.anomalies for _, one in found if one.kinds == kinds),
            tuple(_seed(run) for run, one in found if one.kinds == kinds),
        )
        for kinds in sorted({one.kinds for _, one in found}, key=lambda kinds: [*map(severity, kinds)])
    )


def _faults(measured: Sequence[Measures]) -> tuple[FaultTotal, ...]:
    faults = [fault for measures in measured for fault in measures.faults]
    totals = []
    for kind in sorted({fault.kind for fault in faults}):
        alike = [fault for fault in faults if fault.kind == kind]
        gaps = [fault.unavailable_ms_max for fault in alike if fault.unavailable_ms_max is not None]
        proven = sum(fault.proven for fault in alike)
        totals.append(FaultTotal(kind=kind, count=len(alike), proven=proven, unavailable=_spread(gaps)))
    return tuple(totals)


def _spread(durations_ms: Sequence[int]) -> Spread | None:
    if not durations_ms:
        return None
    return Spread(round(statistics.median(durations_ms)), max(durations_ms))
