"""The smallest difference that a comparison detects in 80 % of cases.

"No difference shown" means little without this figure.  It is computed from the samples, at the strictest
level of Holm's correction, which a difference in a single measure has to pass.  It says by how much the
candidate would have to be worse.

- Durations: a shift of all pairs is reported if it moves the whole interval of the Hodges-Lehmann estimate
  above zero, and the estimate above the margin.  So the estimate must reach the lower half width of the
  interval, or the margin if that is larger.  For 80 % of cases, 0.84 standard errors are added.  The standard
  error is computed from the same half width.
- Shares: the minimum number of the candidate's runs that Fisher's exact test and the margin would report,
  given the runs of the baseline; then the share at which a binomial count reaches that number in 80 % of
  cases.
"""

from bisect import bisect_left
from collections.abc import Sequence
from statistics import NormalDist

from scipy import stats

from results.qualification.inference import ALPHA, share_difference, shares_p, shift

POWER = 0.8
"""Probability of detecting a difference of the stated size."""
_DEVIATIONS = NormalDist().inv_cdf(POWER)


def detectable_shift(differences: Sequence[float], margin: float, tests: int) -> float | None:
    """The smallest shift of a median that would have been reported, in the figures' unit.

    Args:
        differences: the candidate's figure of each pair minus the baseline's; at least one.
        margin: margin that a shift has to exceed.
        tests: number of comparisons that are corrected together.

    Returns:
        None if so few pairs can't pass the corrected test with any shift.
    """
    level = ALPHA / tests
    seen = shift(differences, level)
    if seen.interval is None:
        return None
    half = seen.estimate - seen.interval.low
    error = half / NormalDist().inv_cdf(1 - level / 2)
    return max(half, margin) + _DEVIATIONS * error


def detectable_share(of: int, other: int, of_other: int, margin: float, tests: int) -> float | None:
    """The smallest increase of the candidate's share that would be reported, 0 to 1.

    Args:
        of: number of the candidate's runs.
        other: number of the baseline's runs with the event.
        of_other: number of the baseline's runs.
        margin: margin that a difference has to exceed.
        tests: number of comparisons that are corrected together.

    Returns:
        None if so few runs can't pass the corrected test with any result.
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
