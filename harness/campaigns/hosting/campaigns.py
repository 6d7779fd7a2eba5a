"""Campaigns on hosts: distributes the missing runs and records their results."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path

import click

from harness.campaigns.campaign import Campaign
from harness.campaigns.cancelling import cancellable
from harness.campaigns.hosting.assigning import RunToDo, working_hosts
from harness.campaigns.hosting.host_options import HostOptions
from harness.campaigns.hosting.orders import Report
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from results.store.runs import StoreError


class CampaignWork:
    """The missing seeds of a campaign, in order.

    Args:
        campaign: the campaign.
        plans: a plan for every seed.
        runs: the shared store.
    """

    def __init__(self, campaign: Campaign, plans: Mapping[int, RunPlan], runs: Path) -> None:
        self._campaign = campaign
        self._plans = plans
        self._runs = runs
        missing = campaign.missing()
        titles = (f"seed {seed} ({number} of {len(missing)})" for number, seed in enumerate(missing, start=1))
        self._left = deque(zip(missing, titles, strict=True))

    def next(self) -> RunToDo | None:
        """The next seed; None after the last one."""
        if not self._left:
            return None
        seed, title = self._left.popleft()
        return RunToDo(self._plans[seed], title)

    def take(self, asked: RunToDo, report: Report) -> None:
        """Record how the run of a seed ended."""
        record(self._campaign, asked.plan, report, self._runs)


def record(campaign: Campaign, plan: RunPlan, report: Report, runs: Path) -> None:
    """Record how a run ended, by the same rules as for local runs."""
    seed = plan.options.seed
    if report.failure:
        campaign.record_failure(seed, report.failure)
    elif not report.interrupted:
        folder = runs / report.folder
        try:
            campaign.require_its_kafka(folder)
            campaign.record(seed, folder)
        except (KrucibleError, StoreError) as error:
            campaign.record_failure(seed, str(error))
            click.echo(f"krucible: seed {seed} failed: {error}", err=True)


def run_missing_on_hosts(
    campaign: Campaign, plans: Mapping[int, RunPlan], runs: Path, on_hosts: HostOptions
) -> None:
    """Let hosts make the missing runs of a campaign.

    Raises:
        KrucibleError: no host can make runs.
        PipelineError: there is no master, or no host.
    """
    images = (image for plan in plans.values() for image in plan.images)
    with working_hosts(on_hosts, runs, images) as hosts, cancellable() as cancelled:
        hosts.run_all(CampaignWork(campaign, plans, runs), cancelled)
