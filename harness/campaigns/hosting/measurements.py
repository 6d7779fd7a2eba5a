"""Measurements of sensitivity on hosts: distributes the missing runs of each bug."""

from collections.abc import Callable
from time import monotonic

from harness.campaigns.cancelling import cancellable
from harness.campaigns.hosting.assigning import RunToDo, working_hosts
from harness.campaigns.hosting.campaigns import record
from harness.campaigns.hosting.host_options import HostOptions
from harness.campaigns.hosting.orders import Report
from harness.campaigns.sensitivity.runs import Measuring, Planned
from results.sensitivity.outcomes import Place


class MeasuringWork:
    """The missing runs of a measurement; a bug's next try waits for the result of the previous one.

    Args:
        measuring: the measurement.
        limit_s: no run begins later than that, seconds from now; None: there is no such limit.
        over: called after each run.
    """

    def __init__(self, measuring: Measuring, limit_s: float | None, over: Callable[[], None]) -> None:
        self._measuring = measuring
        self._began = monotonic()
        self._limit_s = limit_s
        self._over = over
        self._tried: set[Place] = set()
        self._under_way: dict[str, Planned] = {}

    def next(self) -> RunToDo | None:
        """The next missing run that does not wait for another one."""
        if self._limit_s is not None and monotonic() - self._began >= self._limit_s:
            return None
        under_way = {one.place for one in self._under_way.values()}
        one = self._measuring.next_missing(self._tried, under_way)
        if one is None:
            return None
        self._tried.add(one.place)
        title = self._measuring.title(one)
        self._under_way[title] = one
        return RunToDo(one.plan, title)

    def take(self, asked: RunToDo, report: Report) -> None:
        """Record how a run ended, and read its outcome."""
        one = self._under_way.pop(asked.title)
        record(self._measuring.campaign(one), one.plan, report, self._measuring.runs)
        self._measuring.look()
        self._over()


def run_missing_on_hosts(
    measuring: Measuring, on_hosts: HostOptions, limit_s: float | None, over: Callable[[], None]
) -> None:
    """Let hosts make the missing runs of a measurement.

    Args:
        measuring: the measurement.
        on_hosts: the options for hosts.
        limit_s: no run begins later than that, seconds from now; None: there is no such limit.
        over: called after each run.

    Raises:
        KrucibleError: no host can make runs.
        PipelineError: there is no master, or no host.
    """
    images = [image for plan in measuring.plans() for image in plan.images]
    if not images:
        return
    work = MeasuringWork(measuring, limit_s, over)
    with working_hosts(on_hosts, measuring.runs, images) as hosts, cancellable() as cancelled:
        hosts.run_all(work, cancelled)
