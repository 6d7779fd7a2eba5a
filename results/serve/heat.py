"""A heat map of outcomes by scenario and day, over all versions."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from results.serve.listing import ListedRun, outcomes
from results.serve.trends import day_of

HEAT_DAYS_MAX = 31
"""Maximum number of days in a heat map; the newest days with runs are shown."""


class HeatCell(NamedTuple):
    """Runs of one scenario on one day.

    Attributes:
        counts: by outcome, worst first; outcomes without a run are left out.
    """

    counts: dict[str, int]

    @property
    def worst(self) -> str:
        """The most severe outcome of the day; empty without runs."""
        return next(iter(self.counts), "")

    @property
    def runs(self) -> int:
        """Number of runs in the cell."""
        return sum(self.counts.values())

    @property
    def text(self) -> str:
        """All counts as text."""
        return ", ".join(f"{count:,} {name}" for name, count in self.counts.items())


class HeatMap(NamedTuple):
    """Days, oldest first, and for each scenario a cell for each day."""

    days: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]


def heat_map(entries: Iterable[ListedRun]) -> HeatMap:
    """The heat map of runs, without replays and seeded bugs, as in trends.

    Args:
        entries: in any order.
    """
    counted: dict[tuple[str, str], Counter[str]] = {}
    for entry in entries:
        day = day_of(entry)
        if day and not (entry.summary.replay_of or entry.summary.seeded_bug):
            counted.setdefault((entry.summary.scenario, day), Counter())[entry.outcome] += 1
    days = tuple(sorted({day for _scenario, day in counted})[-HEAT_DAYS_MAX:])
    scenarios = sorted({scenario for scenario, day in counted if day in days})
    rows = [(name, tuple(_cell(counted.get((name, day), Counter())) for day in days)) for name in scenarios]
    return HeatMap(days, tuple(rows))


def _cell(counts: Counter[str]) -> HeatCell:
    return HeatCell({name: counts[name] for name in outcomes() if counts[name]})
