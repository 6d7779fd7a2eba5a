"""Searches the smallest scenario that still shows an anomaly; the caller makes the runs.

This module makes no runs.  The same outcomes lead to the same trials, so a search can be continued from the
recorded outcomes.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from harness.campaigns.minimising.evidence import LEVELS, Evidence, RateTest, ReproductionOutcome
from harness.plan.digest import digest_of
from harness.vocabulary.scenario import Scenario


class Trial(NamedTuple):
    """A scenario that may show the anomaly, with a short description."""

    scenario: Scenario
    text: str


Pass = Callable[[Scenario], Generator[Trial, bool, None]]
"""A way to make a scenario smaller: yields smaller ones, and receives whether each was kept."""
RunsNeeded = Generator[Trial, ReproductionOutcome, None]
"""Yields a trial for each run, and receives the outcome of that run."""


class Search:
    """One search for a smaller scenario.

    In each phase one run that shows the anomaly is enough to go on with a candidate.  The smallest one of the
    phase is then run until the test decides.  If it is dropped, the phase begins again, and each of its
    candidates is run until the test decides.

    Args:
        starts: scenarios to start from; the first that shows the anomaly is taken.
        phases: ways to make it smaller, tried one after the other.
        guess: a smaller scenario that is tried before the starts; it is taken if it shows the anomaly as
            often as the strictest level asks.

    Attributes:
        best: the smallest scenario so far that shows the anomaly; None without one.
        level: how often the anomaly must return, by the rate of the start.
        kept: description of each step that was kept, in order.
    """

    def __init__(
        self, starts: Sequence[Trial], phases: Sequence[Sequence[Pass]], guess: Trial | None = None
    ) -> None:
        self._starts, self._guess = starts, guess
        self._phases = phases
        self._evidence: dict[str, Evidence] = {}
        self.best: Scenario | None = None
        self.level = LEVELS[0]
        self.kept: list[str] = []

    @property
    def tested(self) -> bool:
        """Whether the test has decided for the smallest scenario; not in the middle of a phase."""
        evidence = None if self.best is None else self._evidence.get(digest_of(self.best))
        return evidence is not None and evidence.decision(self.level) is True

    def runs_needed(self) -> RunsNeeded:
        """The needed runs, one at a time; at the end nothing smaller is left to try."""
        guessed = self._guess is not None and (yield from self._judged(self._guess, hasty=False))
        for start in () if guessed else self._starts:
            level = yield from self._level_of(start)
            if level is not None:
                self.best, self.level = start.scenario, level
                break
        if self.best is None:
            return
        for phase in self._phases:
            before, kept = self.best, len(self.kept)
            yield from self._carry_out(phase, hasty=True)
            if self.best is not before and not (yield from self._holds(Trial(self.best, self.kept[-1]))):
                self.best = before
                del self.kept[kept:]
                yield from self._carry_out(phase, hasty=False)

    def _carry_out(self, phase: Sequence[Pass], *, hasty: bool) -> RunsNeeded:
        for each in phase:
            if self.best is not None:
                yield from self._answer(each(self.best), hasty=hasty)

    def _answer(self, trials: Generator[Trial, bool, None], *, hasty: bool) -> RunsNeeded:
        try:
            trial = next(trials)
            while True:
                trial = trials.send((yield from self._judged(trial, hasty=hasty)))
        except StopIteration:
            return

    def _judged(self, trial: Trial, *, hasty: bool) -> Generator[Trial, ReproductionOutcome, bool]:
        """Whether to go on with a trial; `hasty`: one run that shows the anomaly is enough."""
        kept = yield from self._holds(trial, hasty=hasty)
        if kept and trial.scenario != self.best:
            self.best = trial.scenario
            self.kept.append(trial.text)
        return kept

    def _holds(self, trial: Trial, *, hasty: bool = False) -> Generator[Trial, ReproductionOutcome, bool]:
        """Whether a trial shows the anomaly often enough; its earlier runs count."""
        evidence = self._evidence.setdefault(digest_of(trial.scenario), Evidence())
        while (decision := evidence.decision(self.level)) is None:
            if hasty and evidence.shown:
                return True
            evidence.add((yield trial))
        return decision

    def _level_of(self, start: Trial) -> Generator[Trial, ReproductionOutcome, RateTest | None]:
        """The strictest level that a start reaches; None if it shows the anomaly too rarely."""
        evidence = self._evidence.setdefault(digest_of(start.scenario), Evidence())
        for level in LEVELS:
            while (decision := evidence.decision(level)) is None:
                evidence.add((yield start))
            if decision:
                return level
        return None
