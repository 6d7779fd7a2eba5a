"""``krucible summary``: what any runs found together, whatever their scenarios and settings."""

from pathlib import Path

import click

from harness.cli.campaigns import EXIT_CODES
from harness.errors import UsageError
from results.campaign import render_campaign
from results.store import list_runs, write_whole
from results.summary import encode_summary, outcome_of, summarise


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER…")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the page to a file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def summary(context: click.Context, folders: tuple[Path, ...], out: Path | None, *, as_json: bool) -> None:
    """Sum up every run below the FOLDERs: one Markdown page, what went wrong first.

    Exits as a campaign of these runs would.
    """
    found = sorted({run.folder.resolve() for folder in folders for run in list_runs(folder)})
    if not found:
        raise UsageError(
            "there are no runs to sum up",
            where=", ".join(map(str, folders)),
            expected="folders of runs, or folders that hold some",
            next_step="krucible list",
        )
    summed = summarise(outcome_of(run) for run in found)
    page = encode_summary(summed).decode() if as_json else render_campaign(summed)
    if out is None:
        click.echo(page, nl=False)
    else:
        write_whole(out, page.encode())
        click.echo(f"summary  {out}")
    context.exit(EXIT_CODES[summed.outcome])
