"""Searches the smallest scenario that still shows an anomaly; the caller makes the runs.

This module makes no runs.  The same outcomes lead to the same trials, so a search can be continued from the
recorded outcomes.
"""

import hashlib
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from harness.campaigns.minimising.evidence import LEVELS, Evidence, RateTest, ReproductionOutcome
from harness.plan.writing import write_scenario
from harness.vocabulary.scenario import Scenario

_DIGITS = 8


class Trial(NamedTuple):
    """A scenario that may show the anomaly, with a short description."""

    scenario: Scenario
    text: str


Pass = Callable[[Scenario], Generator[Trial, bool, None]]
"""A way to make a scenario smaller: yields smaller ones, and receives whether each was kept."""
RunsNeeded = Generator[Trial, ReproductionOutcome, None]
"""Yields a trial for each run, and receives the outcome of that run."""


def key_of(scenario: Scenario) -> str:
    """A key of a scenario; equal scenarios have the same key."""
    return hashlib.sha256(write_scenario(scenario, "").encode()).hexdigest()[:_DIGITS]


class Search:
    """One search for a smaller scenario.

    Args:
        starts: scenarios to start from; the first that shows the anomaly is taken.
        passes: ways to make it smaller, tried one after the other.
        guess: a smaller scenario that is tried before the starts; it is taken if it shows the anomaly as
            often as the strictest level asks.

    Attributes:
        best: the smallest scenario so far that shows the anomaly; None without one.
        level: how often the anomaly must return, by the rate of the start.
        kept: description of each step that was kept, in order.
    """

    def __init__(self, starts: Sequence[Trial], passes: Sequence[Pass], guess: Trial | None = None) -> None:
        self._starts, self._guess = starts, guess
        self._passes = passes
        self._decided: dict[str, bool] = {}
        self.best: Scenario | None = None
        self.level = LEVELS[0]
        self.kept: list[str] = []

    def runs_needed(self) -> RunsNeeded:
        """The needed runs, one at a time; at the end nothing smaller is left to try."""
        guessed = self._guess is not None and (yield from self._judged(self._guess))
        for start in () if guessed else self._starts:
            level = yield from _level_of(start)
            if level is not None:
                self.best, self.level = start.scenario, level
                self._decided[key_of(start.scenario)] = True
                break
        if self.best is None:
            return
        for each in self._passes:
            yield from self._carry_out(each(self.best))

    def _carry_out(self, trials: Generator[Trial, bool, None]) -> RunsNeeded:
        try:
            trial = next(trials)
            while True:
                trial = trials.send((yield from self._judged(trial)))
        except StopIteration:
            return

    def _judged(self, trial: Trial) -> Generator[Trial, ReproductionOutcome, bool]:
        """Whether a trial shows the anomaly often enough; a decided trial is not run again."""
        key = key_of(trial.scenario)
        if key not in self._decided:
            evidence = Evidence()
            while (decision := evidence.decision(self.level)) is None:
                evidence.add((yield trial))
            self._decided[key] = decision
            if decision:
                self.best = trial.scenario
                self.kept.append(trial.text)
        return self._decided[key]


def _level_of(start: Trial) -> Generator[Trial, ReproductionOutcome, RateTest | None]:
    """The strictest level that a start reaches; None if it shows the anomaly too rarely."""
    evidence = Evidence()
    for level in LEVELS:
        while (decision := evidence.decision(level)) is None:
            evidence.add((yield start))
        if decision:
            return level
    return None
