"""Decides by few runs whether an anomaly returns often enough: Wald's sequential test.

A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16 (1945), 117-186.
After each run, the likelihood ratio of the outcomes under "the rate is `RateTest.high`" and "the rate is
`RateTest.low`" is compared with two bounds, which follow from the accepted share of wrong decisions.
"""

import math
from collections import Counter
from enum import StrEnum
from typing import NamedTuple

ERROR = 0.2
"""Maximum share of wrong decisions at each bound of a level (without the limit `RUNS_MAX`)."""
RUNS_MAX = 12
"""After this number of runs a test ends, and the likelier result counts."""
UNDECIDED_MAX = 2
"""A candidate with this many runs without a verdict is abandoned."""


class ReproductionOutcome(StrEnum):
    """Result of one run with regard to the wanted anomaly."""

    SHOWN = "shown"
    MISSED = "missed"
    UNDECIDED = "undecided"


class RateTest(NamedTuple):
    """A test: the rate at which an anomaly must return, and the rate that is too low.

    Attributes:
        low: a candidate with this rate or less is wrongly kept with a probability of at most `ERROR`.
        high: a candidate with this rate or more is wrongly dropped with a probability of at most `ERROR`.
    """

    low: float
    high: float

    def text(self) -> str:
        """Both rates as a text."""
        return (
            f"kept if it comes back {self.high:.0%} of the time, dropped if {self.low:.0%} "
            f"(each wrong at most {ERROR:.0%} of the time)"
        )


LEVELS = (RateTest(0.5, 0.9), RateTest(0.2, 0.5), RateTest(0.05, 0.25))
"""The levels, from the highest rate to the lowest."""


class Evidence:
    """The outcomes of one candidate's runs."""

    def __init__(self) -> None:
        self._counts: Counter[ReproductionOutcome] = Counter()

    def add(self, outcome: ReproductionOutcome) -> None:
        """Add the outcome of one more run."""
        self._counts[outcome] += 1

    @property
    def shown(self) -> int:
        """Number of runs that showed the anomaly."""
        return self._counts[ReproductionOutcome.SHOWN]

    def decision(self, level: RateTest) -> bool | None:
        """Whether the candidate shows the anomaly often enough; None: another run is needed."""
        odds = self._log_odds(level)
        bound = math.log((1 - ERROR) / ERROR)
        if odds >= bound:
            return True
        if odds <= -bound or self._counts[ReproductionOutcome.UNDECIDED] >= UNDECIDED_MAX:
            return False
        return odds > 0 if self._counts.total() >= RUNS_MAX else None

    def _log_odds(self, level: RateTest) -> float:
        shown, missed = self._counts[ReproductionOutcome.SHOWN], self._counts[ReproductionOutcome.MISSED]
        return shown * math.log(level.high / level.low) + missed * math.log(
            (1 - level.high) / (1 - level.low)
        )
