"""``krucible serve``: the runs of a store in this host's browser."""

import errno
import sys
import webbrowser
from pathlib import Path

import click

from harness.cli.options import runs_option
from harness.errors import KrucibleError
from results.serve import open_browser

PORT = 8123


@click.command()
@runs_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any that is free."
)
@click.option("--open/--no-open", "opens", default=False, help="Open it in a web browser.")
def serve(runs: Path, port: int, opens: bool) -> None:  # noqa: FBT001 - click hands flags over like this
    """Browse stored runs: table, filters, trends, reports, downloads.

    Listens on 127.0.0.1 alone, until Ctrl-C.
    """
    try:
        with open_browser(runs, port) as browser:
            click.echo(f"runs of {runs} at {browser.url}   (Ctrl-C ends it)")
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
        "the port is taken" if taken else "the port can't be had",
        got=error.strerror or str(error),
        expected="a port of 127.0.0.1 that nobody listens on",
        where=f"127.0.0.1:{port}",
        next_step="krucible serve --port 0   takes any that is free",
    )
