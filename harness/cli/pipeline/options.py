"""Options that the commands of ``krucible pipeline`` share, and how the commands show their progress."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from harness.cli.options.places import Folder
from harness.errors import UsageError
from harness.record.folder import RUNS
from results.pipeline.snapshots.snapshot import holds_runs
from results.pipeline.spark.progress import Lines, Progress
from results.pipeline.spark.session import LOCAL, is_master
from results.store.commands import store_option
from results.store.runs import RunAmbiguousError, RunNotFoundError, find_run, followed, run_folders

TABLES = Path("tables")
MEND_RUNS = "fix or remove the runs that were skipped, or name another RUNS_FOLDER"
"""The next step if runs were found but none could be ingested."""

F = TypeVar("F", bound=Callable[..., Any])


class Master(click.ParamType[str]):
    """The URL of a Spark master."""

    name = "MASTER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; fail if it is not the URL of a Spark master."""
        if not is_master(str(value)):
            expected = "local[N], local[*], spark://HOST:PORT, yarn or k8s://URL"
            self.fail(f"got {value!r}, expected {expected}", param, ctx)
        return str(value)


def spark_options(function: F) -> F:
    """Add ``--master M`` and ``--verbose``."""
    choices = (
        click.option(
            "--master",
            type=Master(),
            envvar="KRUCIBLE_SPARK_MASTER",
            show_envvar=True,
            help=f"Spark master; {LOCAL} by default, under spark-submit that of spark-submit.  The JVM of a "
            "local one gets 2g of memory, or SPARK_DRIVER_MEMORY.",
        ),
        click.option("--verbose", is_flag=True, help="Show Spark's own log."),
    )
    for choice in reversed(choices):
        function = choice(function)
    return function


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def tables_option(function: F) -> F:
    """Add the option ``--tables DIR``."""
    return click.option(
        "--tables",
        type=Folder(),
        envvar="KRUCIBLE_TABLES",
        show_envvar=True,
        default=TABLES,
        show_default=True,
        help="Where the tables are kept.",
    )(function)


def runs_argument(function: F) -> F:
    """Add the argument ``[RUNS_FOLDER]``; see `require_runs`. It has the same default as ``--runs``."""
    return click.argument(
        "runs",
        default=RUNS,
        type=Folder(),
        metavar="[RUNS_FOLDER]",
        envvar="KRUCIBLE_RUNS",
    )(function)


def require_runs(named: Path) -> Path:
    """Return the folder that was given, which must hold runs. A symbolic link to a run is followed.

    Args:
        named: any folder, a folder of the store, or a run in a form that other commands accept, such as
            ``latest``.

    Raises:
        UsageError: nothing has this name, or there is no run below the folder.
        RunAmbiguousError: several runs have that short name.
    """
    store = Path(os.environ.get("KRUCIBLE_RUNS") or RUNS)
    folder = _named_folder(store, named)
    if folder is None or next(run_folders(folder), None) is None:
        raise UsageError(
            "there are no runs to ingest",
            got="no such folder or run" if folder is None else "a folder without runs",
            expected=f"a folder that holds runs, at any depth, or a run in {store}: latest, its seed or time",
            where=str(folder or named),
            next_step="name another RUNS_FOLDER, or make a run: "
            f"krucible run smoke/partition{store_option(store)}",
        )
    return folder


def _named_folder(store: Path, named: Path) -> Path | None:
    """Return the folder or run of that name; None if neither exists.

    Raises:
        RunAmbiguousError: several runs have that short name.
    """
    folder = next((path for path in (named, store / named) if path.is_dir()), None)
    if folder is not None:
        return followed(folder) if folder.is_symlink() else folder
    try:
        return find_run(store, str(named))
    except RunAmbiguousError:
        raise
    except RunNotFoundError:
        return None


def require_ingested(tables: Path, next_step: str = "krucible pipeline ingest") -> None:
    """Refuse tables that hold no run: there is nothing to judge, compute or read.

    Raises:
        UsageError: no run was ingested.
    """
    if not holds_runs(tables):
        raise UsageError(
            "there are no runs in the tables",
            expected="at least one that was ingested",
            where=str(tables),
            next_step=next_step,
        )


@contextmanager
def shown() -> Iterator[Progress]:
    """Show progress on stderr: bars on a terminal, lines elsewhere."""
    console = Console(stderr=True)
    if not (sys.stderr.isatty() and console.is_terminal):
        yield Lines(lambda line: click.echo(line, err=True))
        return
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console) as bars:
        tasks: dict[str, Any] = {}

        def show(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(doing)
            bars.update(tasks[doing], completed=done, total=total or None)

        yield show
