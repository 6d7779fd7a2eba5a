"""``krucible pipeline ingest``: writes rows of runs into the tables."""

import time
from functools import partial
from pathlib import Path
from shlex import quote

import click

from harness.cli.parsing import Command
from harness.cli.pipeline.options import (
    MEND_RUNS,
    json_option,
    require_ingested,
    require_runs,
    runs_argument,
    shown,
    spark_options,
    tables_option,
)
from harness.cli.pipeline.text import of_ingest, steps_json
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.spark.session import opened
from results.pipeline.steps.ingest import ingest as bring_up_to_date


@click.command(cls=Command)
@runs_argument
@tables_option
@spark_options
@json_option
def ingest(runs: Path, tables: Path, master: str | None, *, verbose: bool, as_json: bool) -> None:
    """Bring the tables up to date with every run below RUNS_FOLDER ($KRUCIBLE_RUNS, or runs).

    RUNS_FOLDER is any folder, or a run: `latest`, a scenario, a run's seed or time.

    Runs that are in the tables already are not read again. Incomplete and corrupt runs are left out and
    reported. If it is killed, the tables are either unchanged or complete.
    """
    runs = require_runs(runs)
    began = time.monotonic()
    opening = partial(opened, master, app="krucible ingest", verbose=verbose)
    with shown() as progress:
        done = bring_up_to_date(opening, runs, tables, progress)
    took_s = time.monotonic() - began
    if as_json:
        click.echo(steps_json(tables, took_s, ingested=done))
        require_ingested(tables, MEND_RUNS)
        return
    for line in of_ingest(done, f" in {took_s:.1f} s"):
        click.echo(line)
    require_ingested(tables, MEND_RUNS)
    click.echo(f"tables     {tables / CURRENT}")
    click.echo(f"next       krucible pipeline check --tables {quote(str(tables))}")
