"""``krucible pipeline ingest``: runs become rows."""

import time
from functools import partial
from pathlib import Path
from shlex import quote

import click

from harness.cli.pipeline_options import shown, spark_options, tables_option
from harness.errors import UsageError
from harness.folder import RUNS
from results.cleaning import clean
from results.pipeline.found import Skipped
from results.pipeline.ingest import Ingested
from results.pipeline.ingest import ingest as bring_up_to_date
from results.pipeline.session import opened
from results.pipeline.snapshot import CURRENT

_SKIPPED_TOLD = 20
_TEXT_MAX = 300


@click.command()
@click.argument(
    "runs", default=RUNS, type=click.Path(path_type=Path, file_okay=False), metavar="[RUNS_FOLDER]"
)
@tables_option
@spark_options
def ingest(runs: Path, tables: Path, master: str | None, *, verbose: bool) -> None:
    """Bring the tables up to date with every run below RUNS_FOLDER.

    Runs that are in the tables already are not read again; those that are half-written or corrupt are left
    out, and told.  Killed at any moment, it leaves the tables as they were, or complete.
    """
    if not runs.is_dir():
        raise UsageError("there are no runs to ingest", got=str(runs), expected="a folder that holds runs")
    began = time.monotonic()
    opening = partial(opened, master, app="krucible ingest", verbose=verbose)
    with shown() as progress:
        done = bring_up_to_date(opening, runs, tables, progress)
    click.echo(_told(done, tables, time.monotonic() - began))


def _told(done: Ingested, tables: Path, took_s: float) -> str:
    """The last lines: what was added and left out, where the tables are, what to do next."""
    lines = [f"ingested   {done.runs:,} runs, {done.operations:,} operations in {took_s:.1f} s"]
    if done.unchanged:
        lines.append(f"unchanged  {done.unchanged:,} runs")
    if done.skipped:
        lines.append(f"skipped    {len(done.skipped):,} runs")
        lines += [f"  {clean(one.folder, _TEXT_MAX)}: {_line(one)}" for one in done.skipped[:_SKIPPED_TOLD]]
        rest = len(done.skipped) - _SKIPPED_TOLD
        lines += [f"  and {rest:,} more"] if rest > 0 else []
    lines += [
        f"tables     {tables / CURRENT}",
        f"next       krucible pipeline check --tables {quote(str(tables))}",
    ]
    return "\n".join(lines)


def _line(skipped: Skipped) -> str:
    return clean(" ".join(skipped.reason.split()), _TEXT_MAX)
