"""``krucible rerun-failed``: repeats the failed runs of a campaign or a store."""

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from harness.campaigns.campaign import EXIT_CODES, Campaign
from harness.campaigns.cancelling import cancellable
from harness.campaigns.contents import Contents
from harness.campaigns.making import run_missing
from harness.campaigns.provisions import require_images
from harness.campaigns.rerunning import (
    Failures,
    campaigns_of,
    failures_named,
    failures_of_campaign,
    last_campaign,
)
from harness.campaigns.series import Series, Venue
from harness.cli.options.completion import complete_run
from harness.cli.options.shared import runs_option
from harness.cli.parsing import Command
from results.campaigns.summary import Outcome, outcome_of, worst
from results.markup.cleaning import clean
from results.markup.markdown import number
from results.store.commands import store_option

_TEXT_MAX = 1_000


@click.command("rerun-failed", cls=Command)
@click.argument("folder", required=False, shell_complete=complete_run)
@click.option("--dry-run", is_flag=True, help="Print what would be run again; start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the output of the runs goes to stderr.")
@runs_option
def rerun_failed(folder: str | None, *, dry_run: bool, as_json: bool, runs: Path) -> int:
    """Run again what failed in FOLDER: a campaign, a qualification or any runs.

    Without FOLDER that is what was in progress last: the last campaign of krucible run --seeds, or all runs
    of the last qualification.  The first line of the output names it.

    Failed are runs that are not as expected, as most unknown ones are not, and those in which the harness
    failed.  Each is planned again from its scenario, options, seed and version of Kafka.  Replays and reruns
    are not run again.  The original keeps its verdict.  After an interruption the same command continues.

    The exit code is that of a campaign of these reruns; 0 if nothing failed.
    """
    place, failures = _failures(folder, runs)
    outcomes = [Outcome.FAILED] if failures.left_out else []
    campaigns: list[Campaign] = []
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        _print_failures(place, failures, runs)
        if not dry_run and failures.again:
            campaigns = _run_again(failures, runs)
            outcomes += map(_finished, campaigns)
    code = EXIT_CODES[worst(outcomes)] if outcomes else 0
    if as_json:
        click.echo(json.dumps(_as_json(place, failures, campaigns) | {"exit_code": code}))
    return code


def _print_failures(place: Path, failures: Failures, runs: Path) -> None:
    click.echo(
        f"failed   {len(failures.again) + len(failures.left_out)} of {number(failures.of, 'run')} in {place}"
    )
    if failures.missing:
        click.echo(f"missing  {number(failures.missing, 'run')}; the same krucible qualify makes them")
    for again in failures.again:
        click.echo(f"again    {again.why:<8}{clean(again.plan.reproduce, _TEXT_MAX)}{store_option(runs)}")
    for why in failures.left_out:
        click.echo(f"left out {clean(why, _TEXT_MAX)}", err=True)


def _failures(folder: str | None, runs: Path) -> tuple[Path, Failures]:
    if folder is not None:
        return failures_named(runs, folder)
    campaign = last_campaign(runs)
    return campaign, failures_of_campaign(campaign)


def _run_again(failures: Failures, runs: Path) -> list[Campaign]:
    """Make the missing reruns and return their campaigns."""
    contents = Contents()
    campaigns = campaigns_of(failures, runs, contents)
    require_images(plans[seed] for campaign, plans in campaigns for seed in campaign.missing())
    with cancellable() as cancelled, Series(runs, cancelled) as series:
        for campaign, plans in campaigns:
            if not cancelled.is_set():
                run_missing(campaign, plans, Venue(runs, series=series), cancelled)
    return [campaign for campaign, _plans in campaigns]


def _finished(campaign: Campaign) -> Outcome:
    """Write a campaign's summary and return its outcome."""
    codes = {code: outcome for outcome, code in EXIT_CODES.items()}
    return codes[campaign.finish()]


def _as_json(place: Path, failures: Failures, campaigns: Sequence[Campaign]) -> dict[str, Any]:
    return {
        "folder": str(place),
        "runs": failures.of,
        "missing": failures.missing,
        "again": [
            {
                "run": again.name,
                "outcome": again.why,
                "scenario": again.plan.options.scenario,
                "kafka_version": again.plan.version,
                "seed": again.plan.options.seed,
                "reproduce": again.plan.reproduce,
            }
            for again in failures.again
        ],
        "left_out": failures.left_out,
        "reruns": [rerun for campaign in campaigns for rerun in _reruns(campaign)],
    }


def _reruns(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """The reruns of a campaign, by seed; one in which the harness failed has no folder."""
    for seed, folder in sorted(campaign.done.items()):
        yield {"seed": seed, "folder": str(folder), "outcome": outcome_of(folder).outcome}
    for seed, why in sorted(campaign.failed.items()):
        yield {"seed": seed, "folder": None, "outcome": Outcome.FAILED, "why": why}
