"""Results of comparisons as frozen values: figures of pairs, tests, and detectable differences."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from results.campaigns.summary import Spread
from results.run.text import seconds

MARGIN_MS = 1_000
MARGIN_OF_MEDIAN = 0.25
"""A shift is reported if it exceeds both a second and this share of the baseline's median."""
MARGIN_SHARE = 0.05
SIGHT = 2
"""A comparison may report "nothing worse" only if it could detect a difference of this many margins."""


class ComparisonResult(StrEnum):
    """The result of a comparison."""

    WORSE = "worse"
    BETTER = "better"
    NO_DIFFERENCE = "no difference shown"
    BLIND = "too few runs for the correction"
    """Even the largest difference could not have passed the corrected test."""
    TOO_FEW = "too few pairs to tell"


class PairFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a pair of runs: both durations (ms), and the folders of the runs."""

    scenario: str
    mode: str
    seed: int | None
    candidate_ms: int
    baseline_ms: int
    candidate_folder: str
    baseline_folder: str


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Durations of paired runs.

    Attributes:
        name: name of the measure.
        pairs: number of pairs in which both runs have a figure.
        candidate: median and maximum of the candidate, over these pairs.
        baseline: median and maximum of the baseline.
        shift_ms: shift of the median, candidate minus baseline; positive is longer.
        low_ms: lower end of the interval of the shift; None if there are too few pairs.
        high_ms: upper end.
        margin_ms: margin that a shift has to exceed.
        p: p-value, uncorrected.
        p_corrected: Holm's correction over all comparisons of the report; None if there are too few pairs.
        finding: the result.
        detectable_ms: the smallest detectable shift, by `power`; None if no shift could be detected.
        figures: figures of all pairs, by scenario, mode and seed.
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
    finding: ComparisonResult = ComparisonResult.TOO_FEW
    detectable_ms: int | None = None
    figures: tuple[PairFigures, ...] = ()


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """The number of runs in which an event happened, on both sides.

    Attributes:
        name: name of the event.
        candidate: number of the candidate's runs with the event.
        candidate_of: number of the candidate's runs.
        baseline: number of the baseline's runs with the event.
        baseline_of: number of the baseline's runs.
        low: lower end of the interval of the difference of the shares, candidate minus baseline.
        high: upper end.
        p: p-value, uncorrected.
        p_corrected: Holm's correction over all comparisons of the report.
        finding: the result.
        detectable: the smallest detectable difference, by `power`; None if none could be detected.
        candidate_folders: folders of the candidate's runs with the event.
        baseline_folders: folders of the baseline's runs with the event.
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
    finding: ComparisonResult = ComparisonResult.NO_DIFFERENCE
    detectable: float | None = None
    candidate_folders: tuple[str, ...] = ()
    baseline_folders: tuple[str, ...] = ()


class Comparisons(msgspec.Struct, frozen=True):
    """All comparisons of a report.  Holm's correction of their p-values is over all of them."""

    durations: tuple[Durations, ...] = ()
    shares: tuple[Shares, ...] = ()

    def worse(self) -> tuple[str, ...]:
        """Comparisons with the result worse, with figures."""
        return tuple(text for text, finding in self._texts() if finding is ComparisonResult.WORSE)

    def better(self) -> tuple[str, ...]:
        """Comparisons with the result better, with figures."""
        return tuple(text for text, finding in self._texts() if finding is ComparisonResult.BETTER)

    def too_few(self) -> tuple[str, ...]:
        """Measures that could not be compared."""
        return tuple(
            f"{one.name} ({one.pairs})" for one in self.durations if one.finding is ComparisonResult.TOO_FEW
        )

    def blind(self) -> tuple[str, ...]:
        """Comparisons with so few runs that no difference could have passed the corrected test."""
        durations = (one.name for one in self.durations if one.finding is ComparisonResult.BLIND)
        return (*durations, *(one.name for one in self.shares if one.finding is ComparisonResult.BLIND))

    def weak(self) -> tuple[str, ...]:
        """Comparisons that could only detect a large difference, with its size."""
        return (
            *(f"{one.name} (≥ {seconds(one.detectable_ms)})" for one in self.durations if _weak_shift(one)),
            *(f"{one.name} (≥ {points(one.detectable)})" for one in self.shares if _weak_share(one)),
        )

    def tests(self) -> int:
        """Number of comparisons that were tested and corrected together."""
        return len(self.durations) + len(self.shares) - len(self.too_few())

    def tried(self) -> int:
        """Number of comparisons that could have been significant."""
        return self.tests() - len(self.blind())

    def _texts(self) -> Iterator[tuple[str, ComparisonResult]]:
        for one in self.durations:
            yield f"{one.name}: median shifted by {one.shift_ms:+,} ms", one.finding
        for share in self.shares:
            counts = (
                f"{share.candidate} of {share.candidate_of} runs, {share.baseline} of {share.baseline_of}"
            )
            yield f"{share.name}: {counts} of the baseline's", share.finding


def under(kind: str) -> str:
    """Name of the measure of unavailability under a kind of fault."""
    return f"unavailability under {kind}"


def points(share: float | None) -> str:
    """A difference of shares as text."""
    return "not known" if share is None else f"{100 * share:.0f} percentage points"


def _weak_shift(one: Durations) -> bool:
    least = one.detectable_ms
    return (
        one.finding is ComparisonResult.NO_DIFFERENCE and least is not None and least > SIGHT * one.margin_ms
    )


def _weak_share(one: Shares) -> bool:
    least = one.detectable
    return (
        one.finding is ComparisonResult.NO_DIFFERENCE and least is not None and least > SIGHT * MARGIN_SHARE
    )
