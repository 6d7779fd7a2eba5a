"""Wilson's score interval of a share, given a number of events and a number of trials.

E.  B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
Statistical Association 22 (1927), 209-212.  Unlike the share plus or minus some standard errors, it stays
between 0 and 1, and is useful even if no trial or every trial had the event.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
"""Of the interval: as often it holds the true share."""
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""How many standard deviations the middle of a normal distribution reaches to either side, for `LEVEL`."""


class Interval(NamedTuple):
    """Both ends of an interval at `LEVEL`."""

    low: float
    high: float


def wilson(count: int, of: int) -> Interval:
    """The interval of a share; of none anything is possible.

    Args:
        count: how often something happened.
        of: of how many.

    Raises:
        ValueError: the count is negative or more than there are.
    """
    if not 0 <= count <= of:
        raise ValueError(f"{count} of {of} is no share")
    if of == 0:
        return Interval(0.0, 1.0)
    share, weight = count / of, Z * Z / of
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    # Rounding must not leave a hair's breadth where the ends are 0 and 1.
    return Interval(0.0 if count == 0 else middle - half, 1.0 if count == of else middle + half)
