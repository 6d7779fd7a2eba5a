"""``krucible pipeline check``: judges the runs that are in the tables."""

import time
from functools import partial
from pathlib import Path
from shlex import quote

import click

from harness.cli.parsing import Command
from harness.cli.pipeline.options import (
    json_option,
    require_ingested,
    shown,
    spark_options,
    tables_option,
)
from harness.cli.pipeline.text import of_check, steps_json
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.spark.session import opened
from results.pipeline.steps.check import check as judge_again


@click.command(cls=Command)
@tables_option
@click.option("--again", is_flag=True, help="Judge all runs, also those that these checkers have judged.")
@spark_options
@json_option
def check(tables: Path, master: str | None, *, again: bool, verbose: bool, as_json: bool) -> None:
    """Judge the ingested runs by the checkers of this krucible, from the journals in their folders.

    Runs that have verdicts of the same checkers are not judged again.  A verdict that differs from the one in
    the run's folder is reported: other checkers judged the run, or its folder has changed.
    """
    require_ingested(tables)
    began = time.monotonic()
    opening = partial(opened, master, app="krucible check", verbose=verbose)
    with shown() as progress:
        done = judge_again(opening, tables, progress, again=again)
    if as_json:
        click.echo(steps_json(tables, time.monotonic() - began, checked=done))
        return
    for line in of_check(done, f" in {time.monotonic() - began:.1f} s"):
        click.echo(line)
    click.echo(f"tables     {tables / CURRENT}")
    click.echo(f"next       krucible pipeline tables --tables {quote(str(tables))}")
