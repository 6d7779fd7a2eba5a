"""Makes runs: a single one, or the missing runs of a campaign."""

import threading
from collections.abc import Mapping

import click
from msgspec.structs import replace

from checkers.history.reading import HistoryError
from harness.campaigns.campaign import Campaign
from harness.campaigns.performing import RunJudged
from harness.campaigns.series import Series, Venue
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from results.store.runs import StoreError


def run_one(plan: RunPlan, venue: Venue, cancelled: threading.Event) -> RunJudged:
    """Make a run, judge it, write verdict and report, and print the result.

    Raises:
        KrucibleError: the harness failed, and the history until then shows nothing illegal.
    """
    if venue.series is not None:
        return venue.series.run(plan, venue)
    with Series(venue.runs, cancelled) as series:
        return series.run(plan, venue)


def run_missing(
    campaign: Campaign, plans: Mapping[int, RunPlan], venue: Venue, cancelled: threading.Event
) -> None:
    """Make a campaign's missing runs, until it is cancelled; the harness's failures are recorded.

    Args:
        campaign: the campaign.
        plans: a plan for every seed.
        venue: the place of the runs; its `following` is the run after the campaign's last one.
        cancelled: set to end the campaign early.
    """
    missing = campaign.missing()
    following = [*(plans[seed] for seed in missing[1:]), venue.following]
    for number, (seed, then) in enumerate(zip(missing, following, strict=False), start=1):
        if cancelled.is_set():
            break
        click.echo(f"--- seed {seed} ({number} of {len(missing)})")
        try:
            folder, _verdict = run_one(plans[seed], replace(venue, following=then), cancelled)
            if not cancelled.is_set():
                campaign.require_its_kafka(folder)
                campaign.record(seed, folder)
        except (HistoryError, KrucibleError, StoreError) as error:
            campaign.record_failure(seed, str(error))
            click.echo(f"krucible: seed {seed} failed: {error}", err=True)
