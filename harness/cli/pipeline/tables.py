"""``krucible pipeline tables``: what is computed from the tables of runs."""

import time
from functools import partial
from pathlib import Path

import click

from harness.cli.parsing import Command
from harness.cli.pipeline.options import (
    json_option,
    require_ingested,
    shown,
    spark_options,
    tables_option,
)
from harness.cli.pipeline.text import of_tables, steps_json
from results.pipeline.analytics.updating import compute
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.spark.session import opened


@click.command(cls=Command)
@tables_option
@spark_options
@json_option
def tables(tables: Path, master: str | None, *, verbose: bool, as_json: bool) -> None:
    """Compute availability, recovery, latency, flakes, failures, trends and the other tables.

    If nothing has changed, nothing is computed. If it is killed, the tables are either unchanged or
    complete.
    """
    require_ingested(tables)
    began = time.monotonic()
    opening = partial(opened, master, app="krucible tables", verbose=verbose)
    with shown() as progress:
        done = compute(opening, tables, progress)
    if as_json:
        click.echo(steps_json(tables, time.monotonic() - began, computed=done))
        return
    click.echo(of_tables(done, f" in {time.monotonic() - began:.1f} s"))
    click.echo(f"tables     {tables / CURRENT}")
