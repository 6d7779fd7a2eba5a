"""The statistics of a comparison: exact tests, and intervals that keep their promise with few runs.

No test assumes that figures are normally distributed or many. Intervals of shares are Clopper and Pearson's
(never too narrow); of a difference of shares Newcombe's, from Wilson's intervals; shares are compared by
Fisher's exact test. Paired figures are compared by Wilcoxon's signed ranks, whose distribution is computed,
ties included; their shift is Hodges and Lehmann's, with the interval that belongs to the test. Several tests
at a time are corrected by Holm.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from results.repeats.wilson import LEVEL, Interval, wilson

ALPHA = 0.05
"""A test is significant below it; every stated interval is at `LEVEL`, its complement."""


class Shift(NamedTuple):
    """How much larger the first figures of pairs are than the second.

    Attributes:
        estimate: of the median difference, in the figures' unit.
        interval: of it; None where there are too few pairs for any.
        p: that nothing but chance is behind it.
    """

    estimate: float
    interval: Interval | None
    p: float


def share_interval(count: int, of: int) -> Interval:
    """Clopper and Pearson's interval of a share; anything is possible where nothing was tried."""
    if of == 0:
        return Interval(0.0, 1.0)
    ends = stats.binomtest(count, of).proportion_ci(LEVEL, method="exact")
    return Interval(float(ends.low), float(ends.high))


def share_difference(count: int, of: int, other: int, of_other: int) -> Interval:
    """Newcombe's interval of the first share less the second."""
    if of == 0 or of_other == 0:
        return Interval(-1.0, 1.0)
    first, second = wilson(count, of), wilson(other, of_other)
    share, other_share = count / of, other / of_other
    difference = share - other_share
    below = float(np.hypot(share - first.low, second.high - other_share))
    above = float(np.hypot(first.high - share, other_share - second.low))
    return Interval(difference - below, difference + above)


def shares_p(count: int, of: int, other: int, of_other: int) -> float:
    """Fisher's exact test, two-sided, of two shares being the same."""
    table = np.array([[count, of - count], [other, of_other - other]])
    return float(stats.fisher_exact(table).pvalue)


def shift(differences: Sequence[float], alpha: float = ALPHA) -> Shift:
    """Estimate the shift from the differences of pairs.

    Args:
        differences: the first figure of each pair less the second; at least one.
        alpha: how often the interval may miss the shift.
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
    """Fewest pairs that can be significant: all of them must agree."""
    return next(count for count in range(1, 100) if _left_out(count, ALPHA) is not None)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's correction: each p as if it had been the only one tried, in the order given."""
    count = len(p_values)
    corrected = [1.0] * count
    largest = 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, p_values[index] * (count - rank)))
        corrected[index] = largest
    return tuple(corrected)


def _signed_ranks_p(figures: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Wilcoxon's test, two-sided; pairs without a difference are left out."""
    told = figures[figures != 0]
    if not len(told):
        return 1.0
    # Twice the ranks are whole numbers, whatever is tied.
    ranks = np.rint(stats.rankdata(np.abs(told)) * 2).astype(np.int64)
    positive = int(ranks[told > 0].sum())
    chances = _rank_sums(ranks)
    tail = min(chances[: positive + 1].sum(), chances[positive:].sum())
    return min(1.0, float(2 * tail))


def _rank_sums(
    ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Chance of each sum of the ranks that have a plus, if every sign is a fair coin's."""
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[: len(chances) - rank]
        chances = (chances + with_it) / 2
    return chances


def _left_out(count: int, alpha: float) -> int | None:
    """How many averages lie outside the interval at each end; None where no interval is wide enough."""
    below = np.cumsum(_rank_sums(np.arange(1, count + 1)))
    half = alpha / 2
    return int(np.searchsorted(below, half, side="right")) - 1 if below[0] <= half else None
