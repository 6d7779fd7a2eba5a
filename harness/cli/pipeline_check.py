"""``krucible pipeline check``: what the tables hold is judged."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

import click

from harness.cli.pipeline_options import shown, spark_options, tables_option
from results.cleaning import clean
from results.pipeline.check import Checked
from results.pipeline.check import check as judge_again
from results.pipeline.found import Skipped
from results.pipeline.session import opened
from results.pipeline.snapshot import CURRENT

_TOLD = 20
_TEXT_MAX = 300


@click.command()
@tables_option
@click.option("--again", is_flag=True, help="Judge all runs, those with a verdict of these checkers, too.")
@spark_options
def check(tables: Path, master: str | None, *, again: bool, verbose: bool) -> None:
    """Judge the ingested runs by the checkers of this krucible, from the journals in their folders.

    Runs that have verdicts of the same checkers are not judged again.  Where a verdict is not the one in the
    run's folder, that is told: the run was judged by other checkers, or its folder has changed.
    """
    began = time.monotonic()
    opening = partial(opened, master, app="krucible check", verbose=verbose)
    with shown() as progress:
        done = judge_again(opening, tables, progress, again=again)
    click.echo("\n".join(_told(done, tables, time.monotonic() - began)))


def _told(done: Checked, tables: Path, took_s: float) -> Iterator[str]:
    """The last lines: verdicts, what differs, what could not be judged, what to do next."""
    validities = ", ".join(f"{count:,} {validity}" for validity, count in done.validities.items())
    yield f"judged     {done.runs:,} runs in {took_s:.1f} s" + (f": {validities}" if validities else "")
    if done.unchanged:
        yield f"unchanged  {done.unchanged:,} runs"
    yield from _listed("skipped", done.skipped)
    yield from _listed("differing", done.differing, f" from their verdict.json, {done.changed:,} in validity")
    yield f"tables     {tables / CURRENT}"
    yield f"next       krucible pipeline tables --tables {quote(str(tables))}"


def _listed(name: str, runs: Sequence[Skipped], how: str = "") -> Iterator[str]:
    if not runs:
        return
    yield f"{name:<10} {len(runs):,} runs{how}"
    for run in runs[:_TOLD]:
        yield f"  {clean(run.folder, _TEXT_MAX)}: {clean(' '.join(run.reason.split()), _TEXT_MAX)}"
    if len(runs) > _TOLD:
        yield f"  and {len(runs) - _TOLD:,} more"
