"""The runs of a minimisation: ordinary runs of a scenario file, kept in the store."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from checkers.history.reading import HistoryError
from checkers.verdict.verdict import Validity
from harness.campaigns.making import run_one
from harness.campaigns.minimising.evidence import ReproductionOutcome
from harness.campaigns.minimising.passes import PHASES
from harness.campaigns.minimising.search import Search, Trial
from harness.campaigns.minimising.starting import Start, shows
from harness.campaigns.minimising.state import CANDIDATES, RESULT_FILE, MinimisationFile, Tried
from harness.campaigns.series import Series, Venue
from harness.errors import KrucibleError, disk_errors_named
from harness.plan.digest import digest_of
from harness.plan.planning import RunPlan, plan_run
from harness.plan.scenario_files import name_of
from harness.plan.writing import write_scenario
from harness.vocabulary.scenario import Scenario
from results.store.runs import StoreError, write_whole


class RunBudget(NamedTuple):
    """Limits of a command's runs.

    Attributes:
        limit_s: no run begins that would end later, if it takes as long as the longest one so far; the
            search leaves time for the runs that measure the rate.
        runs_max: largest number of runs; None: no limit.
        confirming: number of runs that measure the rate of the chosen scenario.
    """

    limit_s: float
    runs_max: int | None
    confirming: int


class BudgetExhaustedError(Exception):
    """The budget allows no further run, or the command was interrupted."""


class Minimising:
    """One command's work on a minimisation.

    Args:
        start: the start of the search.
        kept: the runs so far.
        runs: the store.
        budget: limits of the runs.
        cancelled: when set, the current run is the last one and does not count.
        replay_of: id of the red run.

    Attributes:
        search: how far the search has come.
        searched: whether nothing smaller is left to try.
        complete: whether the rate is measured, too.
    """

    def __init__(
        self,
        start: Start,
        kept: MinimisationFile,
        runs: Path,
        *,
        budget: RunBudget,
        cancelled: threading.Event,
        replay_of: str,
    ) -> None:
        self._start, self._kept, self._runs, self._budget = start, kept, runs, budget
        self._cancelled, self._replay_of = cancelled, replay_of
        self._began, self._made = time.monotonic(), 0
        self._longest_s = self._last_s = 0.0
        self._failed_before = False
        self.search = Search(start.trials, PHASES, start.guess)
        self.searched = self.complete = False

    def go_on(self) -> None:
        """Make the runs for the search, then those that measure the rate, within the budget.

        Raises:
            KrucibleError: the harness failed in two runs in a row; all earlier runs are kept.
        """
        with Series(self._runs, self._cancelled) as series:
            venue = Venue(self._runs, series=series)
            self.searched = self._within(lambda: self._search(venue))
            confirmed = self._within(lambda: self._confirm(venue))
        self.complete = self.searched and confirmed
        if not self.complete:
            why = "interrupted" if self._cancelled.is_set() else "the budget is spent"
            click.echo(f"minimise   {why}; the same command continues", err=True)

    def outcomes(self, scenario: Scenario) -> tuple[list[ReproductionOutcome], bool]:
        """Outcomes of a scenario's runs after the search; without any, of those by which it was chosen."""
        confirming = self._kept.outcomes(scenario, confirming=True)
        return (confirming, True) if confirming else (self._kept.outcomes(scenario), False)

    def write_result(self, docstring: str) -> Path:
        """Write the smallest scenario so far.

        Raises:
            ValueError: there is none yet.
        """
        if self.search.best is None:
            raise ValueError("no scenario shows the anomaly")
        path = self._kept.folder / RESULT_FILE
        with disk_errors_named():
            write_whole(path, write_scenario(self.search.best, docstring).encode())
        return path

    @staticmethod
    def _within(action: Callable[[], None]) -> bool:
        """Whether the budget was enough for an action."""
        try:
            action()
        except BudgetExhaustedError:
            return False
        return True

    def _search(self, venue: Venue) -> None:
        """Give the search the known outcomes, then those of new runs."""
        asking, used = self.search.runs_needed(), dict[str, int]()
        try:
            trial = next(asking)
            while True:
                key = digest_of(trial.scenario)
                known = self._kept.outcomes(trial.scenario)
                place = used.get(key, 0)
                outcome = known[place] if place < len(known) else self._run(trial, venue, confirming=False)
                used[key] = place + 1
                trial = asking.send(outcome)
        except StopIteration:
            return

    def _confirm(self, venue: Venue) -> None:
        best = self.search.best
        if best is None:
            return
        while len(self._kept.outcomes(best, confirming=True)) < self._budget.confirming:
            self._run(Trial(best, "how often it comes back"), venue, confirming=True)

    def _run(self, trial: Trial, venue: Venue, *, confirming: bool) -> ReproductionOutcome:
        """The outcome of one more run; it is repeated once if the harness failed."""
        while True:
            self._require_budget(confirming=confirming)
            plan = self._plan(trial)
            click.echo(f"minimise   run {len(self._kept.state.tried) + 1}: {trial.text}", err=True)
            began = time.monotonic()
            self._made += 1
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    folder, verdict = run_one(plan, venue, self._cancelled)
            except (HistoryError, KrucibleError, StoreError) as error:
                if self._failed_before or self._cancelled.is_set():
                    raise
                self._failed_before = True
                click.echo(f"krucible: the run failed and is repeated: {error}", err=True)
                continue
            if self._cancelled.is_set():
                raise BudgetExhaustedError
            self._failed_before = False
            self._last_s = time.monotonic() - began
            self._longest_s = max(self._longest_s, self._last_s)
            outcome = (
                ReproductionOutcome.SHOWN
                if shows(verdict, self._start.wanted)
                else ReproductionOutcome.MISSED
            )
            if outcome is ReproductionOutcome.MISSED and verdict.validity is Validity.UNKNOWN:
                outcome = ReproductionOutcome.UNDECIDED
            self._kept.add(
                Tried(digest_of(trial.scenario), outcome, str(folder), confirming, round(self._last_s))
            )
            click.echo(f"minimise   {self._start.wanted} was {outcome}: {folder}", err=True)
            return outcome

    def _require_budget(self, *, confirming: bool) -> None:
        """Raise an error if no further run may begin."""
        reserved_s = 0.0 if confirming else self._budget.confirming * self._last_s
        ends_s = time.monotonic() - self._began + self._longest_s + reserved_s
        spent = self._budget.runs_max is not None and self._made >= self._budget.runs_max
        if self._cancelled.is_set() or spent or ends_s > self._budget.limit_s:
            raise BudgetExhaustedError

    def _plan(self, trial: Trial) -> RunPlan:
        """Plan the run of a trial, from a scenario file that is written for it."""
        folder = self._kept.folder / CANDIDATES
        path = (folder / f"{self._start.wanted}-{digest_of(trial.scenario)}.py").resolve()
        docstring = f"A candidate: {trial.text}, to find out whether {self._start.wanted} comes back."
        with disk_errors_named():
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, write_scenario(trial.scenario, docstring).encode())
        options = replace(self._start.options, scenario=name_of(path), scenario_file=str(path))
        return replace(plan_run(options), replay_of=self._replay_of)
