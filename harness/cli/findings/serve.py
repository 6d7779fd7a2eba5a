"""``krucible serve``: shows the runs of a store in a browser on this host."""

import errno
import sys
import webbrowser
from pathlib import Path

import click

from harness.cli.options.shared import WholeNumber, require_store, runs_option
from harness.cli.parsing import Command
from harness.errors import KrucibleError
from results.serve import open_browser

PORT = 8123


@click.command(cls=Command)
@click.pass_context
@runs_option
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=PORT,
    show_default=True,
    help="Port; 0 means any free port.",
)
@click.option("--open/--no-open", "opens", default=False, help="Open it in a web browser.")
def serve(context: click.Context, runs: Path, port: int, *, opens: bool) -> None:
    """Browse stored runs: table, filters, trends, reports, downloads.

    Listens only on 127.0.0.1, until Ctrl-C.
    """
    require_store(context, runs)
    missing = not runs.is_dir()
    try:
        with open_browser(runs, port) as browser:
            place = f"{runs} (not there yet)" if missing else runs
            click.echo(f"runs of {place} at {browser.url}   (Ctrl-C ends it)")
            sys.stdout.flush()
            if opens:
                webbrowser.open(browser.url)
            browser.serve_forever()
    except KeyboardInterrupt:
        click.echo()
    except OSError as error:
        raise _refused(error, port) from error


def _refused(error: OSError, port: int) -> KrucibleError:
    taken = error.errno == errno.EADDRINUSE
    return KrucibleError(
        "the port is taken" if taken else "the port can't be used",
        got=error.strerror or str(error),
        expected="a free port of 127.0.0.1",
        where=f"127.0.0.1:{port}",
        next_step="krucible serve --port 0   takes any that is free",
    )
