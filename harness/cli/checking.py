"""``krucible check`` and ``krucible report``: judge a stored run again, draw it again; no Docker needed."""

from pathlib import Path

import click
import msgspec

from checkers.judge import judge
from checkers.reading import read_history
from harness.cli.keeping import EXIT_CODES, identity_of, keep, show
from harness.cli.options import runs_option
from results.report import write_report
from results.store import find_run


@click.command()
@click.argument("run", default="latest")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@runs_option
def check(run: str, as_json: bool, runs: Path) -> int:  # noqa: FBT001 - click hands flags over like this
    """Judge a stored RUN again: latest, a scenario's name, or a folder."""
    folder = find_run(runs, run)
    history = read_history(folder)
    verdict = judge(history)
    text = keep(folder, history, verdict)
    if as_json:
        click.echo(msgspec.json.encode(verdict).decode())
    else:
        show(text)
    return EXIT_CODES[verdict.validity]


@click.command()
@click.argument("run", default="latest")
@runs_option
def report(run: str, runs: Path) -> None:
    """Write a stored RUN's report again and say where it is."""
    folder = find_run(runs, run)
    history = read_history(folder)
    click.echo(write_report(folder, history, judge(history), identity_of(folder)))
