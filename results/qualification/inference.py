"""The statistics of comparisons: exact tests, and intervals that are correct for few runs.

No test assumes a normal distribution or many figures. Shares have Clopper-Pearson intervals (never too
narrow), differences of shares have Newcombe's interval (from Wilson intervals), and shares are compared by
Fisher's exact test. Paired figures are compared by Wilcoxon's signed-rank test with the exact distribution,
including ties. Their shift is the Hodges-Lehmann estimate, with the interval that belongs to the test.
Several tests are corrected by Holm's method.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from results.repeats.wilson import LEVEL, Interval, wilson

ALPHA = 0.05
"""Significance level; all intervals are at `LEVEL`, its complement."""


class Shift(NamedTuple):
    """The amount by which the first figures of pairs exceed the second.

    Attributes:
        estimate: estimate of the median difference, in the unit of the figures.
        interval: its interval; None if there are too few pairs.
        p: the p-value.
    """

    estimate: float
    interval: Interval | None
    p: float


def share_interval(count: int, of: int) -> Interval:
    """The Clopper-Pearson interval of a share; 0 to 1 without trials."""
    if of == 0:
        return Interval(0.0, 1.0)
    ends = stats.binomtest(count, of).proportion_ci(LEVEL, method="exact")
    return Interval(float(ends.low), float(ends.high))


def share_difference(count: int, of: int, other: int, of_other: int) -> Interval:
    """Newcombe's interval of the first share minus the second."""
    if of == 0 or of_other == 0:
        return Interval(-1.0, 1.0)
    first, second = wilson(count, of), wilson(other, of_other)
    share, other_share = count / of, other / of_other
    difference = share - other_share
    below = float(np.hypot(share - first.low, second.high - other_share))
    above = float(np.hypot(first.high - share, other_share - second.low))
    return Interval(difference - below, difference + above)


def shares_p(count: int, of: int, other: int, of_other: int) -> float:
    """Fisher's exact test, two-sided, of the equality of two shares."""
    table = np.array([[count, of - count], [other, of_other - other]])
    return float(stats.fisher_exact(table).pvalue)


def shift(differences: Sequence[float], alpha: float = ALPHA) -> Shift:
    """Estimate the shift from the differences of pairs.

    Args:
        differences: the first figure of each pair minus the second; at least one.
        alpha: probability that the interval misses the shift.
    """
    figures = np.asarray(differences, dtype=np.float64)
    count = len(figures)
    rows, columns = np.triu_indices(count)
    averages = np.sort((figures[rows] + figures[columns]) / 2)
    left_out = _left_out(count, alpha)
    interval = None
    if left_out is not None:
        interval = Interval(float(averages[left_out]), float(averages[-1 - left_out]))
    return Shift(float(np.median(averages)), interval, _signed_ranks_p(figures))


def pairs_needed() -> int:
    """Minimum number of pairs that can be significant, if all differences have the same sign."""
    return next(count for count in range(1, 100) if _left_out(count, ALPHA) is not None)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's correction of p-values, in the given order."""
    count = len(p_values)
    corrected = [1.0] * count
    largest = 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, p_values[index] * (count - rank)))
        corrected[index] = largest
    return tuple(corrected)


def _signed_ranks_p(figures: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Wilcoxon's signed-rank test, two-sided; pairs without a difference are left out."""
    nonzero = figures[figures != 0]
    if not len(nonzero):
        return 1.0
    # Doubled ranks are integers, even with ties.
    ranks = np.rint(stats.rankdata(np.abs(nonzero)) * 2).astype(np.int64)
    positive = int(ranks[nonzero > 0].sum())
    chances = _rank_sums(ranks)
    tail = min(chances[: positive + 1].sum(), chances[positive:].sum())
    return min(1.0, float(2 * tail))


def _rank_sums(
    ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Probability of each sum of positive ranks, if signs are random."""
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[: len(chances) - rank]
        chances = (chances + with_it) / 2
    return chances


def _left_out(count: int, alpha: float) -> int | None:
    """Number of averages outside of the interval at each end; None if no interval is wide enough."""
    below = np.cumsum(_rank_sums(np.arange(1, count + 1)))
    half = alpha / 2
    return int(np.searchsorted(below, half, side="right")) - 1 if below[0] <= half else None
