"""How much checkers judged: numbers by kind, summed over runs.

A valid verdict means only as much as was checked.  Only figures that can be summed are shown; maxima, minima,
durations and rates of single runs are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from checkers.verdict.verdict import CheckerResult, Validity

Looked = dict[str, dict[str, int]]
"""Number of judged things by checker and kind; checkers that were not exercised are left out."""

_NO_SUM = re.compile(r"_(max|min|ms|ns|s)$")


class CheckerTotal(msgspec.Struct, frozen=True):
    """What one checker judged in several runs.

    Attributes:
        checker: name of the checker.
        runs: number of runs in which it was exercised.
        of: number of all runs.
        figures: sums by name, largest first.
    """

    checker: str
    runs: int
    of: int
    figures: dict[str, int]


def looked_at(results: Iterable[CheckerResult]) -> Looked:
    """How much the checkers of a run judged; checkers that were not exercised are left out."""
    return {
        result.checker: _summable(result.figures)
        for result in results
        if result.validity is not Validity.NOT_EXERCISED
    }


def totals(runs: Iterable[Looked]) -> tuple[CheckerTotal, ...]:
    """Sum over several runs, with checkers in the order in which they first appear."""
    all_runs = list(runs)
    names = dict.fromkeys(name for looked in all_runs for name in looked)
    return tuple(_total(name, all_runs) for name in names)


def _total(name: str, runs: list[Looked]) -> CheckerTotal:
    mine = [looked[name] for looked in runs if name in looked]
    figures: Counter[str] = Counter()
    for each in mine:
        figures.update(each)
    return CheckerTotal(name, len(mine), len(runs), {key: n for key, n in figures.most_common() if n})


def _summable(figures: Mapping[str, object]) -> dict[str, int]:
    """Counts, and sums of counts by kind, such as answers by code."""
    found: Counter[str] = Counter()
    for name, value in figures.items():
        if isinstance(value, Mapping):
            found.update({name: sum(_counts(value).values())})
    found.update(_counts(figures))
    return dict(found)


def _counts(figures: Mapping[str, object]) -> dict[str, int]:
    return {
        name: value
        for name, value in figures.items()
        if isinstance(value, int) and not isinstance(value, bool) and not _NO_SUM.search(name)
    }
