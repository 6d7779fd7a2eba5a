"""``krucible summary``: summarises several runs of any scenarios and settings."""

from pathlib import Path

import click

from harness.campaigns.campaign import EXIT_CODES
from harness.cli.options.places import File
from harness.cli.parsing import Command
from harness.errors import UsageError, disk_errors_named
from results.campaigns.markdown import render_campaign
from results.campaigns.page import render_campaign_page
from results.campaigns.step_summary import append_step_summary
from results.campaigns.summary import encode_summary, outcome_of, summarise
from results.run.junit import render_junit, stored_suite
from results.store.addresses import reports_from
from results.store.runs import followed, run_folders, write_whole


@click.command(cls=Command)
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER…")
@click.option("--out", type=File(), help="Write the page to a file.")
@click.option("--html", type=File(), help="Write the page as an HTML file too.")
@click.option("--junit", type=File(), help="Write all runs as one JUnit file.")
@click.option(
    "--step-summary",
    type=File(),
    help="Append a summary for GitHub's page of the step to a file, such as $GITHUB_STEP_SUMMARY.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def summary(
    context: click.Context,
    folders: tuple[Path, ...],
    *,
    out: Path | None,
    html: Path | None,
    junit: Path | None,
    step_summary: Path | None,
    as_json: bool,
) -> None:
    """Summarise all runs in the FOLDERs on one Markdown page, problems first.

    A FOLDER is a store, a part of one, or a run, such as runs/latest.  The exit code is that of a campaign
    of these runs.
    """
    found = sorted({run for folder in folders for run in run_folders(followed(folder))})
    if not found:
        raise UsageError(
            "there are no runs to summarise",
            expected="a folder that has runs as SCENARIO/TIME-SEED, or the folder of a run",
            where=", ".join(map(str, folders)),
            next_step="name a folder of runs, such as runs, or make a run: krucible run smoke/partition",
        )
    outcomes = [outcome_of(run) for run in found]
    summed = summarise(outcomes)
    with disk_errors_named():
        if html is not None:
            reports = reports_from(html.parent, found)
            write_whole(html, render_campaign_page(summed, reports).encode())
        if junit is not None:
            write_whole(junit, render_junit(map(stored_suite, found)))
        if step_summary is not None:
            append_step_summary(" ".join(map(str, folders)), outcomes, path=step_summary)
    page = encode_summary(summed).decode() if as_json else render_campaign(summed)
    if out is None:
        click.echo(page, nl=False)
    else:
        write_whole(out, page.encode())
        click.echo(f"summary  {out}")
    context.exit(EXIT_CODES[summed.outcome])
