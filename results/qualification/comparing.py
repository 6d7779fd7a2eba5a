"""Compares the candidate's runs with the baseline's.

A difference is reported as worse only if neither chance nor a margin explains it.

The unit is the run, because faults of a run overlap and share gaps: for each run and kind of fault only the
longest unavailability counts. Runs are paired by scenario, mode and seed, so by their planned schedule.
"""

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from results.campaigns.summary import Outcome, RunOutcome, Spread
from results.qualification.compared import (
    MARGIN_MS,
    MARGIN_OF_MEDIAN,
    MARGIN_SHARE,
    ComparisonResult,
    Comparisons,
    Durations,
    PairFigures,
    Shares,
    under,
)
from results.qualification.inference import (
    ALPHA,
    holm,
    pairs_needed,
    share_difference,
    shares_p,
    shift,
)
from results.qualification.power import detectable_share, detectable_shift
from results.qualification.records import (
    QualificationRole,
    QualificationRun,
    is_decided,
    of_role,
    outcomes,
)
from results.repeats.wilson import Interval
from results.run.measures import Measures


class _Pair(NamedTuple):
    candidate: QualificationRun
    baseline: QualificationRun

    def measured(self) -> tuple[Measures, Measures]:
        """The measures of both runs."""
        sides = [run.outcome.measures for run in self if run.outcome and run.outcome.measures]
        return sides[0], sides[1]


_Measure = Callable[[Measures], int | None]


def compare(runs: Iterable[QualificationRun]) -> Comparisons:
    """All comparisons, in a fixed order; none without runs of a baseline."""
    kept = list(runs)
    candidate, baseline = (
        of_role(kept, QualificationRole.CANDIDATE),
        of_role(kept, QualificationRole.BASELINE),
    )
    if not (outcomes(candidate) and outcomes(baseline)):
        return Comparisons()
    pairs = list(_pairs(candidate, baseline))
    return _corrected(list(_durations(pairs)), list(_shares(outcomes(candidate), outcomes(baseline))))


def unavailable_ms(measures: Measures, kind: str) -> int | None:
    """The longest unavailability of a run's faults of one kind; None if none was measured."""
    gaps = (f.unavailable_ms_max for f in measures.faults if f.kind == kind)
    return max((gap for gap in gaps if gap is not None), default=None)


def spread(durations_ms: Sequence[int]) -> Spread:
    """Median and maximum of at least one duration."""
    return Spread(round(statistics.median(durations_ms)), max(durations_ms))


def _pairs(candidate: Sequence[QualificationRun], baseline: Sequence[QualificationRun]) -> Iterator[_Pair]:
    """Pairs of runs with the same plan; repeated runs are paired in their order."""
    waiting: dict[str, list[QualificationRun]] = {}
    for run in _in_time(baseline):
        if run.outcome and run.outcome.measures:
            waiting.setdefault(run.planned.pair, []).append(run)
    for run in _in_time(candidate):
        others = waiting.get(run.planned.pair)
        if run.outcome and run.outcome.measures and others:
            yield _Pair(run, others.pop(0))


def _in_time(runs: Sequence[QualificationRun]) -> list[QualificationRun]:
    return sorted(runs, key=lambda run: (run.planned.pair, _folder(run)))


def _durations(pairs: Sequence[_Pair]) -> Iterator[Durations]:
    kinds = sorted({fault.kind for pair in pairs for side in pair.measured() for fault in side.faults})
    for kind in kinds:
        yield from _durations_of(under(kind), pairs, partial(unavailable_ms, kind=kind))
    # A run that did not recover counts with the time that the harness waited.
    yield from _durations_of("recovery after healing", pairs, lambda measures: measures.recovery_ms)


def _durations_of(name: str, pairs: Sequence[_Pair], measure: _Measure) -> Iterator[Durations]:
    figures = sorted(
        (one for pair in pairs for one in _figures(pair, measure)),
        key=lambda one: (one.scenario, one.mode, one.seed or 0, one.candidate_folder),
    )
    if not figures:
        return
    first = spread([one.candidate_ms for one in figures])
    second = spread([one.baseline_ms for one in figures])
    seen = shift(_differences(figures))
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
        figures=tuple(figures),
    )


def _figures(pair: _Pair, measure: _Measure) -> Iterator[PairFigures]:
    """The figures of the pairs in which both runs have one."""
    mine, other = map(measure, pair.measured())
    if mine is not None and other is not None:
        run = pair.candidate
        yield PairFigures(
            scenario=run.planned.scenario,
            mode=run.planned.mode,
            seed=run.identity.seed if run.identity else None,
            candidate_ms=mine,
            baseline_ms=other,
            candidate_folder=_folder(pair.candidate),
            baseline_folder=_folder(pair.baseline),
        )


def _differences(figures: Iterable[PairFigures]) -> list[int]:
    return [one.candidate_ms - one.baseline_ms for one in figures]


def _folder(run: QualificationRun) -> str:
    return run.outcome.folder if run.outcome else ""


def _shares(candidate: Sequence[RunOutcome], baseline: Sequence[RunOutcome]) -> Iterator[Shares]:
    """Runs that did not recover, and runs with each illegal anomaly that was not expected."""
    yield _shares_of("no recovery in time", *map(_unrecovered, (candidate, baseline)))
    sides = _decided(candidate), _decided(baseline)
    for name in sorted({name for side in sides for run in side for name in run.illegal}):
        yield _shares_of(
            name, *(_Tally([r.folder for r in side if name in r.illegal], len(side)) for side in sides)
        )


def _decided(runs: Iterable[RunOutcome]) -> list[RunOutcome]:
    decided = filter(is_decided, runs)
    return [run for run in decided if not (run.outcome is Outcome.INVALID and run.as_expected)]


class _Tally(NamedTuple):
    """Folders of the runs with an event, and the number of all runs."""

    folders: list[str]
    of: int


def _unrecovered(runs: Iterable[RunOutcome]) -> _Tally:
    measured = [run for run in runs if run.measures and run.measures.recovered is not None]
    return _Tally(
        [run.folder for run in measured if run.measures and not run.measures.recovered], len(measured)
    )


def _shares_of(name: str, candidate: _Tally, baseline: _Tally) -> Shares:
    counts = (len(candidate.folders), candidate.of, len(baseline.folders), baseline.of)
    ends = share_difference(*counts)
    return Shares(
        name=name,
        candidate=len(candidate.folders),
        candidate_of=candidate.of,
        baseline=len(baseline.folders),
        baseline_of=baseline.of,
        low=round(ends.low, 4),
        high=round(ends.high, 4),
        p=round(shares_p(*counts), 6),
        candidate_folders=tuple(sorted(candidate.folders)),
        baseline_folders=tuple(sorted(baseline.folders)),
    )


def _corrected(durations: list[Durations], shares: list[Shares]) -> Comparisons:
    """Apply Holm's correction; comparisons that can't be significant are not counted among the tests."""
    able = [one for one in durations if one.pairs >= pairs_needed()]
    tests = len(able) + len(shares)
    corrected = holm([*(one.p for one in able), *(one.p for one in shares)])
    of_durations = dict(zip((one.name for one in able), corrected, strict=False))
    return Comparisons(
        tuple(_judged(one, of_durations.get(one.name), tests) for one in durations),
        tuple(_judged_share(one, p, tests) for one, p in zip(shares, corrected[len(able) :], strict=True)),
    )


def _judged(one: Durations, p: float | None, tests: int) -> Durations:
    if p is None or one.low_ms is None or one.high_ms is None:
        return one
    found = finding_of(one.shift_ms, Interval(one.low_ms, one.high_ms), p, one.margin_ms)
    least = detectable_shift(_differences(one.figures), one.margin_ms, tests)
    return msgspec.structs.replace(
        one,
        p_corrected=round(p, 6),
        finding=_seen(found, blind=least is None),
        detectable_ms=None if least is None else round(least),
    )


def _judged_share(one: Shares, p: float, tests: int) -> Shares:
    shares = [count / of if of else 0.0 for count, of in _counts(one)]
    found = finding_of(shares[0] - shares[1], Interval(one.low, one.high), p, MARGIN_SHARE)
    least = detectable_share(one.candidate_of, one.baseline, one.baseline_of, MARGIN_SHARE, tests)
    blind = least is None and not _cannot_be_worse(one, tests)
    return msgspec.structs.replace(
        one,
        p_corrected=round(p, 6),
        finding=_seen(found, blind=blind),
        detectable=None if least is None else round(least, 4),
    )


def _cannot_be_worse(one: Shares, tests: int) -> bool:
    """Whether all runs of the baseline have the event, and are enough to show a smaller share."""
    fewer = detectable_share(one.candidate_of, 0, one.baseline_of, MARGIN_SHARE, tests)
    return 0 < one.baseline_of == one.baseline and fewer is not None


def _seen(found: ComparisonResult, *, blind: bool) -> ComparisonResult:
    """The result; "no difference shown" becomes blind if no difference could have been shown."""
    return ComparisonResult.BLIND if found is ComparisonResult.NO_DIFFERENCE and blind else found


def _counts(one: Shares) -> tuple[tuple[int, int], tuple[int, int]]:
    return (one.candidate, one.candidate_of), (one.baseline, one.baseline_of)


def finding_of(effect: float, interval: Interval, p_corrected: float, margin: float) -> ComparisonResult:
    """Worse or better if the corrected test, the interval and the margin all agree."""
    excluded = interval.low > 0 or interval.high < 0
    if p_corrected >= ALPHA or not excluded or abs(effect) <= margin:
        return ComparisonResult.NO_DIFFERENCE
    return ComparisonResult.WORSE if effect > 0 else ComparisonResult.BETTER
