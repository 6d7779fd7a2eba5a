"""``krucible check`` and ``krucible report``: judge a stored run again, draw it again; no Docker needed."""

from pathlib import Path

import click
import msgspec

from checkers.identity import RunIdentity
from checkers.judge import judge
from checkers.reading import read_history
from harness.cli.options import runs_option
from harness.cli.running import EXIT_CODES
from results.report import write_report
from results.store import RunUnreadableError, find_run, load_identity, save_verdict
from results.text import last_lines


@click.command()
@click.argument("run", default="latest")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@runs_option
def check(run: str, as_json: bool, runs: Path) -> int:  # noqa: FBT001 - click hands flags over like this
    """Judge a stored RUN again: latest, a scenario's name, or a folder."""
    folder = find_run(runs, run)
    verdict = judge(read_history(folder))
    save_verdict(folder, verdict)
    if as_json:
        click.echo(msgspec.json.encode(verdict).decode())
    else:
        click.echo(last_lines(verdict, folder, _identity(folder)))
    return EXIT_CODES[verdict.validity]


@click.command()
@click.argument("run", default="latest")
@runs_option
def report(run: str, runs: Path) -> None:
    """Write a stored RUN's report again and say where it is."""
    folder = find_run(runs, run)
    history = read_history(folder)
    path = write_report(folder, history, judge(history), _identity(folder))
    click.echo(path)


def _identity(folder: Path) -> RunIdentity | None:
    """None where the harness was killed before it had written one."""
    try:
        return load_identity(folder)
    except RunUnreadableError:
        return None
