"""Compares the candidate's runs to the baseline's: worse is only what chance and a margin do not explain.

The unit is the run, because faults of one run overlap and share their gaps: of each run and kind of fault the
longest unavailability counts once. Runs are paired by scenario, mode and seed, so by their planned schedule.
"""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from results.measures import Measures
from results.qualification.inference import (
    ALPHA,
    holm,
    pairs_needed,
    share_difference,
    shares_p,
    shift,
)
from results.qualification.records import Role, Run, of_role, outcomes
from results.summary import Outcome, RunOutcome, Spread
from results.wilson import Interval

MARGIN_MS = 1_000
MARGIN_OF_MEDIAN = 0.25
"""A shift is worth a word if it is more than both: a second, and a quarter of the baseline's median."""
MARGIN_SHARE = 0.05


class Finding(StrEnum):
    """What a comparison says."""

    WORSE = "worse"
    BETTER = "better"
    NO_DIFFERENCE = "no difference shown"
    TOO_FEW = "too few pairs to tell"


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Durations of paired runs.

    Attributes:
        name: what was measured.
        pairs: of runs that both have a figure.
        candidate: middle and largest, over those pairs.
        baseline: the same.
        shift_ms: of the median, candidate less baseline; positive is longer.
        low_ms: lower end of its interval; None where there are too few pairs.
        high_ms: upper end.
        margin_ms: what a shift has to exceed.
        p: uncorrected.
        p_corrected: by Holm, over all comparisons of the report; None where there are too few pairs.
        finding: what it says.
    """

    name: str
    pairs: int
    candidate: Spread
    baseline: Spread
    shift_ms: int
    low_ms: int | None
    high_ms: int | None
    margin_ms: int
    p: float
    p_corrected: float | None = None
    finding: Finding = Finding.TOO_FEW


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """In how many runs something happened.

    Attributes:
        name: what happened.
        candidate: in how many of the candidate's runs.
        candidate_of: of how many.
        baseline: in how many of the baseline's.
        baseline_of: of how many.
        low: lower end of the interval of the difference of the shares, candidate less baseline.
        high: upper end.
        p: uncorrected.
        p_corrected: by Holm, over all comparisons of the report.
        finding: what it says.
    """

    name: str
    candidate: int
    candidate_of: int
    baseline: int
    baseline_of: int
    low: float
    high: float
    p: float
    p_corrected: float = 1.0
    finding: Finding = Finding.NO_DIFFERENCE


class Comparisons(msgspec.Struct, frozen=True):
    """All comparisons of a report, corrected together."""

    durations: tuple[Durations, ...] = ()
    shares: tuple[Shares, ...] = ()

    def worse(self) -> tuple[str, ...]:
        """What is worse, with its figures."""
        return tuple(told for told, finding in self._told() if finding is Finding.WORSE)

    def better(self) -> tuple[str, ...]:
        """What is better, with its figures."""
        return tuple(told for told, finding in self._told() if finding is Finding.BETTER)

    def too_few(self) -> tuple[str, ...]:
        """What could not be compared."""
        return tuple(f"{one.name} ({one.pairs})" for one in self.durations if one.finding is Finding.TOO_FEW)

    def tried(self) -> int:
        """How many comparisons could speak."""
        return len(self.durations) + len(self.shares) - len(self.too_few())

    def _told(self) -> Iterator[tuple[str, Finding]]:
        for one in self.durations:
            yield f"{one.name}: median shifted by {one.shift_ms:+,} ms", one.finding
        for share in self.shares:
            told = f"{share.candidate} of {share.candidate_of} runs, {share.baseline} of {share.baseline_of}"
            yield f"{share.name}: {told} of the baseline's", share.finding


class _Pair(NamedTuple):
    candidate: Measures
    baseline: Measures


def compare(runs: Iterable[Run]) -> Comparisons:
    """Everything that is compared, in a fixed order; nothing without runs of a baseline."""
    kept = list(runs)
    candidate, baseline = of_role(kept, Role.CANDIDATE), of_role(kept, Role.BASELINE)
    if not (outcomes(candidate) and outcomes(baseline)):
        return Comparisons()
    pairs = list(_pairs(candidate, baseline))
    return _corrected(list(_durations(pairs)), list(_shares(outcomes(candidate), outcomes(baseline))))


def unavailable_ms(measures: Measures, kind: str) -> int | None:
    """The longest unavailability of a run's faults of one kind; None where none was measured."""
    gaps = (f.unavailable_ms_max for f in measures.faults if f.kind == kind)
    return max((gap for gap in gaps if gap is not None), default=None)


def spread(durations_ms: Sequence[int]) -> Spread:
    """Middle and largest of at least one duration."""
    return Spread(round(statistics.median(durations_ms)), max(durations_ms))


def _pairs(candidate: Sequence[Run], baseline: Sequence[Run]) -> Iterator[_Pair]:
    """Runs of the same plan; where one was run several times, the first with the first."""
    waiting: dict[str, list[Measures]] = {}
    for run in _in_time(baseline):
        if run.outcome and run.outcome.measures:
            waiting.setdefault(run.planned.pair, []).append(run.outcome.measures)
    for run in _in_time(candidate):
        others = waiting.get(run.planned.pair)
        if run.outcome and run.outcome.measures and others:
            yield _Pair(run.outcome.measures, others.pop(0))


def _in_time(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (run.planned.pair, run.outcome.folder if run.outcome else ""))


def _durations(pairs: Sequence[_Pair]) -> Iterator[Durations]:
    kinds = sorted({fault.kind for pair in pairs for side in pair for fault in side.faults})
    for kind in kinds:
        found = [(unavailable_ms(a, kind), unavailable_ms(b, kind)) for a, b in pairs]
        yield from _durations_of(f"unavailability under {kind}", found)
    # A run that did not recover counts with the time that was waited.
    yield from _durations_of("recovery after healing", [(a.recovery_ms, b.recovery_ms) for a, b in pairs])


def _durations_of(name: str, found: Iterable[tuple[int | None, int | None]]) -> Iterator[Durations]:
    figures = [(a, b) for a, b in found if a is not None and b is not None]
    if not figures:
        return
    first, second = spread([a for a, _ in figures]), spread([b for _, b in figures])
    seen = shift([a - b for a, b in figures])
    ends = (round(seen.interval.low), round(seen.interval.high)) if seen.interval else (None, None)
    yield Durations(
        name=name,
        pairs=len(figures),
        candidate=first,
        baseline=second,
        shift_ms=round(seen.estimate),
        low_ms=ends[0],
        high_ms=ends[1],
        margin_ms=max(MARGIN_MS, round(second.median_ms * MARGIN_OF_MEDIAN)),
        p=round(seen.p, 6),
    )


def _shares(candidate: Sequence[RunOutcome], baseline: Sequence[RunOutcome]) -> Iterator[Shares]:
    """Runs that did not recover, and runs with each illegal anomaly that was not expected."""
    first, second = _decided(candidate), _decided(baseline)
    yield _shares_of("no recovery in time", *_unrecovered(candidate), *_unrecovered(baseline))
    for name in sorted({name for run in (*first, *second) for name in run.illegal}):
        counts = (sum(name in run.illegal for run in side) for side in (first, second))
        yield _shares_of(name, next(counts), len(first), next(counts), len(second))


def _decided(runs: Iterable[RunOutcome]) -> list[RunOutcome]:
    decided = (run for run in runs if run.outcome in (Outcome.VALID, Outcome.INVALID))
    return [run for run in decided if not (run.outcome is Outcome.INVALID and run.as_expected)]


def _unrecovered(runs: Iterable[RunOutcome]) -> tuple[int, int]:
    told = [run.measures.recovered for run in runs if run.measures and run.measures.recovered is not None]
    return told.count(False), len(told)


def _shares_of(name: str, count: int, of: int, other: int, of_other: int) -> Shares:
    ends = share_difference(count, of, other, of_other)
    return Shares(
        name=name,
        candidate=count,
        candidate_of=of,
        baseline=other,
        baseline_of=of_other,
        low=round(ends.low, 4),
        high=round(ends.high, 4),
        p=round(shares_p(count, of, other, of_other), 6),
    )


def _corrected(durations: list[Durations], shares: list[Shares]) -> Comparisons:
    """With Holm's correction; what can't speak, whatever its figures, is not counted among the tests."""
    able = [one for one in durations if one.pairs >= pairs_needed()]
    corrected = holm([*(one.p for one in able), *(one.p for one in shares)])
    of_durations = dict(zip((one.name for one in able), corrected, strict=False))
    return Comparisons(
        tuple(_judged(one, of_durations.get(one.name)) for one in durations),
        tuple(_judged_share(one, p) for one, p in zip(shares, corrected[len(able) :], strict=True)),
    )


def _judged(one: Durations, p: float | None) -> Durations:
    if p is None or one.low_ms is None or one.high_ms is None:
        return one
    found = finding_of(one.shift_ms, Interval(one.low_ms, one.high_ms), p, one.margin_ms)
    return msgspec.structs.replace(one, p_corrected=round(p, 6), finding=found)


def _judged_share(one: Shares, p: float) -> Shares:
    shares = [count / of if of else 0.0 for count, of in _counts(one)]
    found = finding_of(shares[0] - shares[1], Interval(one.low, one.high), p, MARGIN_SHARE)
    return msgspec.structs.replace(one, p_corrected=round(p, 6), finding=found)


def _counts(one: Shares) -> tuple[tuple[int, int], tuple[int, int]]:
    return (one.candidate, one.candidate_of), (one.baseline, one.baseline_of)


def finding_of(effect: float, interval: Interval, p_corrected: float, margin: float) -> Finding:
    """Worse or better if the corrected test, the interval and the margin all say so."""
    excluded = interval.low > 0 or interval.high < 0
    if p_corrected >= ALPHA or not excluded or abs(effect) <= margin:
        return Finding.NO_DIFFERENCE
    return Finding.WORSE if effect > 0 else Finding.BETTER
