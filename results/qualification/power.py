"""The smallest difference that a comparison detects four times in five.

"No difference shown" means little without this.  The figures come from the samples themselves, at the
strictest level of Holm's correction: a difference in a single measure has to pass that one.  Each says how
much the candidate would have to be worse.

- Durations: a shift of all pairs is reported if it moves the whole interval of Hodges and Lehmann's estimate
  above zero, and the estimate above the margin.  So the estimate has to reach the lower half of the interval,
  or the margin if that is more.  Four times in five takes 0.84 standard errors on top of it.  The standard
  error is taken from the same half of the interval.
- Shares: the fewest runs of the candidate that Fisher's exact test and the margin would report, given the
  runs of the baseline; then the share at which a binomial count reaches so many four times in five.
"""

from bisect import bisect_left
from collections.abc import Sequence
from statistics import NormalDist

from scipy import stats

from results.qualification.inference import ALPHA, share_difference, shares_p, shift

POWER = 0.8
"""Probability with which a difference of the stated size is detected."""
_DEVIATIONS = NormalDist().inv_cdf(POWER)


def detectable_shift(differences: Sequence[float], margin: float, tests: int) -> float | None:
    """The smallest shift of a median that would have been reported, in the figures' unit.

    Args:
        differences: the candidate's figure of each pair less the baseline's; at least one.
        margin: what a shift has to exceed.
        tests: how many comparisons are corrected together.

    Returns:
        None where so few pairs can't pass the corrected test, whatever the shift is.
    """
    level = ALPHA / tests
    seen = shift(differences, level)
    if seen.interval is None:
        return None
    half = seen.estimate - seen.interval.low
    error = half / NormalDist().inv_cdf(1 - level / 2)
    return max(half, margin) + _DEVIATIONS * error


def detectable_share(of: int, other: int, of_other: int, margin: float, tests: int) -> float | None:
    """By how much the candidate's share would have to be larger to be reported, as a part of one.

    Args:
        of: the candidate's runs.
        other: the baseline's runs in which it happened.
        of_other: the baseline's runs.
        margin: what a difference has to exceed.
        tests: how many comparisons are corrected together.

    Returns:
        None where so few runs can't pass the corrected test, whatever happens in them.
    """
    if not (of and of_other):
        return None
    share = other / of_other

    def reported(count: int) -> bool:
        larger = count / of - share > margin and share_difference(count, of, other, of_other).low > 0
        return larger and shares_p(count, of, other, of_other) < ALPHA / tests

    fewest = bisect_left(range(of + 1), x=True, key=reported)
    if fewest > of:
        return None
    return float(stats.beta.ppf(POWER, fewest, of - fewest + 1)) - share
