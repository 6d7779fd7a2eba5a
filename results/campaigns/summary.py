"""Sums up several runs: what they found in total, and one row for each."""

import statistics
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from checkers.history.identity import RunIdentity
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
from results.store.runs import RunUnreadableError, anomaly_counts, load_identity, load_verdict

REASONS_MAX = 3
CAUSES_MAX = 5
"""How many causes of a run have their own line."""


class Outcome(StrEnum):
    """How a run, or several, ended; the order is from the most severe."""

    INVALID = "invalid"
    FAILED = "failed"
    """The harness failed, so that there is no verdict."""
    UNKNOWN = "unknown"
    VALID = "valid"


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a campaign.

    Attributes:
        folder: its folder's name.
        outcome: its verdict, or failed.
        as_expected: None where nothing was expected or judged.
        identity: None where it can't be read.
        anomalies: exact numbers per id.
        illegal: ids of those that break a promise; the others were observed where they are permitted.
        causes: its broken promises by cause, a line each; the last line counts those without one.
        together: all those causes, by their kinds.
        reasons: why else it is not valid, or why it failed.
        measures: its numbers; None where they were not kept.
        looked: what its checkers looked at; None where it was not judged.
    """

    folder: str
    outcome: Outcome
    as_expected: bool | None = None
    identity: RunIdentity | None = None
    anomalies: dict[str, int] = {}
    illegal: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    together: tuple[KindsTogether, ...] = ()
    reasons: tuple[str, ...] = ()
    measures: Measures | None = None
    looked: Looked | None = None

    @property
    def why(self) -> tuple[str, ...]:
        """Why it is not valid: its causes, then all other reasons."""
        return (*self.causes, *self.reasons)


class AnomalyTotal(msgspec.Struct, frozen=True):
    """How often anomalies of one id were found, in which runs, and in how many against what is promised."""

    id: str
    count: int
    illegal_runs: int
    seeds: tuple[int | None, ...]


class CauseTotal(msgspec.Struct, frozen=True):
    """Broken promises whose causes have the same kinds: numbers of causes and anomalies, and the runs."""

    kinds: tuple[str, ...]
    causes: int
    anomalies: int
    seeds: tuple[int | None, ...]


class Spread(msgspec.Struct, frozen=True):
    """Middle and largest of some durations, ms."""

    median_ms: int
    max_ms: int


class FaultTotal(msgspec.Struct, frozen=True, kw_only=True):
    """All faults of one kind: how many, how many were proven, how long nothing was acknowledged."""

    kind: str
    count: int
    proven: int
    unavailable: Spread | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What several runs found together.

    Attributes:
        outcome: invalid if any run is; otherwise failed if any did; otherwise unknown if any is.
        counts: runs by outcome, every outcome listed.
        as_expected: runs whose verdict was the expected one.
        unexpected: runs whose verdict was not.
        sent_ok: acknowledged records of all runs; `sent_info` and `sent_fail` likewise.
        anomalies: anomalies by id.
        causes: causes that break a promise, by their kinds, the most severe kind first.
        faults: by kind.
        recovery: recovery times of the runs that recovered.
        checkers: what checkers judged in the runs.
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
        verdict = load_verdict(folder)
    except RunUnreadableError as error:
        return RunOutcome(
            folder=folder.name, outcome=Outcome.FAILED, identity=identity, reasons=(str(error),)
        )
    try:
        measures = load_measures(folder)
    except RunUnreadableError:
        measures = None
    return judged(folder.name, verdict, identity, measures)


def judged(
    folder: str, verdict: Verdict, identity: RunIdentity | None = None, measures: Measures | None = None
) -> RunOutcome:
    """The outcome of a run that came to a verdict."""
    causes = illegal_causes(verdict)
    return RunOutcome(
        folder=folder,
        outcome=Outcome(verdict.validity.value),
        as_expected=verdict.as_expected,
        identity=_slim(identity),
        anomalies=anomaly_counts(verdict),
        illegal=tuple(sorted({a.id for result in verdict.results for a in result.anomalies if a.illegal})),
        causes=cause_lines(causes, CAUSES_MAX),
        together=kinds_together(causes),
        reasons=other_reasons(verdict)[:REASONS_MAX],
        measures=measures,
        looked=looked_at(verdict.results),
    )


def summarise(runs: Iterable[RunOutcome]) -> Summary:
    """Sum up runs; without any the outcome is unknown."""
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
    """The most severe of several outcomes; unknown of none."""
    gravity = list(Outcome)
    return min(outcomes, key=gravity.index, default=Outcome.UNKNOWN)


def encode_summary(summary: Summary) -> bytes:
    """A summary as JSON."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def _slim(identity: RunIdentity | None) -> RunIdentity | None:
    """With one checksum instead of a hundred files', which the run's own folder keeps."""
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
