"""``krucible pipeline all``: computes every table from stored runs."""

import time
from functools import partial
from pathlib import Path

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
from harness.cli.pipeline.text import of_check, of_ingest, of_tables, steps_json
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.spark.session import opened
from results.pipeline.steps.everything import bring_up_to_date


@click.command(name="all", cls=Command)
@runs_argument
@tables_option
@spark_options
@json_option
def everything(runs: Path, tables: Path, master: str | None, *, verbose: bool, as_json: bool) -> None:
    """Ingest every run below RUNS_FOLDER ($KRUCIBLE_RUNS, or runs), judge it, and compute all tables.

    RUNS_FOLDER is any folder, or a run: `latest`, a scenario, a run's seed or time.

    The same as `ingest`, `check` and `tables` one after the other, but faster: it uses one session, and
    reads the journals once, except those of huge runs.  If it is killed, the tables are as one of the
    three left them.
    """
    runs = require_runs(runs)
    began = time.monotonic()
    opening = partial(opened, master, app="krucible pipeline", verbose=verbose)
    with shown() as progress:
        done = bring_up_to_date(opening, runs, tables, progress)
    if as_json:
        click.echo(steps_json(tables, time.monotonic() - began, **done._asdict()))
        require_ingested(tables, MEND_RUNS)
        return
    for line in of_ingest(done.ingested):
        click.echo(line)
    require_ingested(tables, MEND_RUNS)
    for line in (*of_check(done.checked), of_tables(done.computed)):
        click.echo(line)
    click.echo(f"tables     {tables / CURRENT}, in {time.monotonic() - began:.1f} s")
