"""Hunts on hosts: as many runs as there are hosts go on at once, and each that ends has a say in the next."""

from time import monotonic

import click

from harness.cli.hosting.campaigns import record
from harness.cli.hosting.driving import Asked, crew_of
from harness.cli.hosting.options import OnHosts
from harness.cli.hosting.orders import Report
from harness.cli.hunts import Hunt, Next
from harness.cli.running import cancellable


class HuntWork:
    """The runs of a hunt, each chosen when a host is free for it.

    Args:
        hunt: the hunt, which has looked at its store.
    """

    def __init__(self, hunt: Hunt) -> None:
        self._hunt = hunt
        self._under_way: dict[str, tuple[Next, float]] = {}

    def next(self) -> Asked | None:
        """The run that comes next; None once the time is spent, or the first find is there."""
        if self._hunt.is_over:
            return None
        found = self._hunt.next(*(one for one, _began in self._under_way.values()))
        if found is None:
            return None
        title = self._hunt.title(len(self._under_way))
        self._under_way[title] = found, monotonic()
        click.echo(f"chosen     {found.why}")
        return Asked(found.plan, title)

    def take(self, asked: Asked, report: Report) -> None:
        """Record how a run ended, and take what it shows."""
        found, began = self._under_way.pop(asked.title)
        campaign = self._hunt.campaign(found.plan)
        record(campaign, found.plan, report, self._hunt.runs)
        self._hunt.take(found, campaign, monotonic() - began, interrupted=report.interrupted)


def hunt_on_hosts(hunt: Hunt, on_hosts: OnHosts) -> None:
    """Have hosts do the runs of a hunt.

    Raises:
        KrucibleError: no host can.
        PipelineError: there is no master, or no host.
    """
    with crew_of(on_hosts, hunt.runs, hunt.first_plan.images) as crew, cancellable() as cancelled:
        hunt.at_once = crew.at_once
        hunt.look()
        crew.run_all(HuntWork(hunt), cancelled)
        hunt.close(cancelled)
