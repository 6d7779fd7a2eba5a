"""``krucible check FILE --html``: writes the report of a history that is a file."""

import os
from pathlib import Path
from typing import Any

import click

from harness.cli.histories.foreign import STDIN, JudgedFile, warnings_of
from harness.cli.options.places import File
from harness.errors import UsageError
from harness.run.own_identity import this_krucible
from results.report import HistoryFile, write_page

SUFFIX = ".html"
"""How the name of a page must end, so that no history is overwritten by mistake."""
BESIDE = ""
"""The value of ``--html`` without a name."""
_UNNAMED = f"history{SUFFIX}"


class PageFile(File):
    """The file of a page; `BESIDE` if no name is given."""

    def __init__(self) -> None:
        super().__init__(f"a file that ends with {SUFFIX}")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fail if it is a folder or the name of something other than a page."""
        if value == BESIDE:
            return value
        path = super().convert(value, param, ctx)
        if path.suffix.lower() != SUFFIX:
            self.fail(f"got {str(value)!r}; expected a file that ends with {SUFFIX}", param, ctx)
        return path


def page_of(name: str, wanted: Path | str) -> Path:
    """Where the page of a file is to be written.

    Args:
        name: the file, or ``-`` for standard input.
        wanted: the value of ``--html``.

    Raises:
        UsageError: no file can be written there; found before a long judgement.
    """
    is_named = name != STDIN and Path(name).is_file()
    beside = Path(f"{Path(name).name}{SUFFIX}" if is_named else _UNNAMED)
    path = Path(wanted) if wanted != BESIDE else beside
    problem = "the history itself" if is_named and _is_same(path, name) else _problem(path)
    if problem:
        raise UsageError(
            "the report can't be written there",
            got=problem,
            expected="a file in a folder that exists and in which you may write",
            where=str(path),
            next_step=f"name another place: --html PAGE{SUFFIX}",
        )
    return path


def _is_same(path: Path, name: str) -> bool:
    return path.exists() and path.samefile(name)


def _problem(path: Path) -> str:
    folder = path.parent
    if path.is_dir():
        return "a folder"
    if not folder.is_dir():
        return f"{folder}, which is not a folder"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder}, in which you may not write"


def write_page_of(judged: JudgedFile, page: Path) -> Path:
    """Write the page of a judged file, atomically.

    Raises:
        OSError: it can't be written.
    """
    about = HistoryFile(
        path=judged.file,
        workload=judged.workload,
        model=judged.model,
        lines=judged.lines,
        outcomes=judged.outcomes,
        processes=judged.processes,
        timed=judged.timed,
        warnings=tuple(warnings_of(judged.verdict)),
    )
    return write_page(page, judged.history, judged.verdict, about, this_krucible())
