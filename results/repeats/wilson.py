"""Wilson's score interval of a share, given a number of events and a number of trials.

E.  B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
Statistical Association 22 (1927), 209-212.  Unlike the share plus or minus some standard errors, it stays
between 0 and 1, and is useful even if no trial or all trials had the event.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
"""Confidence level of the interval."""
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""The two-sided quantile of the standard normal distribution for `LEVEL`."""


class Interval(NamedTuple):
    """Both ends of an interval at `LEVEL`."""

    low: float
    high: float


def wilson(count: int, of: int) -> Interval:
    """The interval of a share; without trials it is 0 to 1.

    Args:
        count: number of events.
        of: number of trials.

    Raises:
        ValueError: the count is negative or larger than `of`.
    """
    if not 0 <= count <= of:
        raise ValueError(f"{count} of {of} is not a share")
    if of == 0:
        return Interval(0.0, 1.0)
    share, weight = count / of, Z * Z / of
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    # Without rounding errors, the ends are exactly 0 and 1 in these cases.
    return Interval(0.0 if count == 0 else middle - half, 1.0 if count == of else middle + half)
