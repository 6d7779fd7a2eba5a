"""A series of runs; if the process of one run dies, the next run is made nevertheless."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from harness.campaigns.apart.aftermath import Death, clear_away, take_up
from harness.campaigns.apart.messages import Order
from harness.campaigns.apart.process import DiedError, Process
from harness.campaigns.performing import RunJudged, perform
from harness.plan.planning import RunPlan
from harness.record.events import Event
from harness.run.run_host import Host
from harness.run.standby import Standby

TOGETHER = "KRUCIBLE_TOGETHER"
"""If it is 1, runs are made in the command's own process, which a debugger needs."""


class Venue(msgspec.Struct, frozen=True):
    """The place of a run, and the series that it belongs to.

    Attributes:
        runs: the store that gets the run's folder.
        keep: whether to leave the cluster up afterwards.
        series: the series that it belongs to; None for a single run.
        following: the run that follows, as far as it is known.
    """

    runs: Path
    keep: bool = False
    series: "Series | None" = None
    following: RunPlan | None = None


class Series:
    """Runs in a store, one after the other.

    Args:
        runs: the store.
        cancelled: when set, the current run ends early and no other begins.
    """

    def __init__(self, runs: Path, cancelled: threading.Event) -> None:
        self._runs = runs
        self._cancelled = cancelled
        together = os.environ.get(TOGETHER, "") == "1"
        self._where: _Together | _Apart = (_Together if together else _Apart)(runs, cancelled)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._where.close(kind, error, trace)

    def run(self, plan: RunPlan, venue: Venue) -> RunJudged:
        """Make a run, judge it, write verdict and report, and print the result.

        Raises:
            KrucibleError: the harness failed, and the history until then shows nothing illegal.
        """
        return self._where.run(plan, venue)


class _Together:
    """Runs in this process."""

    def __init__(self, runs: Path, cancelled: threading.Event) -> None:
        self._standby = Standby(runs, cancelled)
        self._cancelled = cancelled

    def run(self, plan: RunPlan, venue: Venue) -> RunJudged:
        host = Host(runs=venue.runs, keep=venue.keep, standby=self._standby, following=venue.following)
        return perform(plan, host, self._cancelled, _unheard)

    def close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._standby.__exit__(kind, error, trace)


class _Apart:
    """Makes runs in a separate process; if it dies, the next run gets another one."""

    def __init__(self, runs: Path, cancelled: threading.Event) -> None:
        self._runs = runs
        self._cancelled = cancelled
        self._process: Process | None = None
        self._begun: list[Path] = []

    def run(self, plan: RunPlan, venue: Venue) -> RunJudged:
        """Make a run; if its process dies, the run is not repeated, and its recorded part is judged."""
        fresh = self._process is None
        process = self._process = self._process or Process(self._runs)
        under_way: list[Path] = []

        def began(folder: Path) -> None:
            under_way.append(folder)
            self._begun.append(folder)

        try:
            judged = process.perform(Order(plan, venue.keep, venue.following), self._cancelled, began)
        except DiedError:
            death = self._death(process, under_way[-1] if under_way else None)
            if fresh or under_way:
                return take_up(death, self._runs)
            # The process died before this run began.
            clear_away(death, self._runs)
            return self.run(plan, venue)
        return judged

    def close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        process, self._process = self._process, None
        if process is None:
            return
        if self._cancelled.is_set():  # a starting cluster need not become ready before it is removed
            process.cancel()
        process.close()

    def _death(self, process: Process, under_way: Path | None) -> Death:
        self._process = None
        code, stderr = process.wait_and_clear()
        return Death(process.owner, code, tuple(stderr), under_way, tuple(self._begun))


def _unheard(event: Event) -> None:
    del event
