"""Shows what a slow command is doing, if stderr is a terminal."""

import io
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from typing import TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from checkers.history.operations import History
from checkers.verdict.entry import Checker
from checkers.verdict.verdict import CheckerResult

PATIENCE_S = 2.0
"""Shorter work shows no progress line."""
Show = Callable[[str], None]
"""A function that gets the name of the step that begins."""


def show_nothing(step: str) -> None:
    """Show nothing; for output that is no terminal."""
    del step


class _Forgiving(io.TextIOBase):
    """A stream that ignores the end of its reader, which must not affect the judgement."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]  # it is never set
        return self._stream.encoding or "utf-8"

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


@contextmanager
def shown_on_terminal(steps: int) -> Iterator[Show]:
    """Show the current step of the block, once it has taken `PATIENCE_S`; the line is removed at its end.

    Args:
        steps: number of steps that will be reported.
    """
    # Stderr is None if the caller closed it; rich would treat FORCE_COLOR as a terminal.
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("CI"):
        yield show_nothing
        return
    console = Console(file=cast("TextIO", _Forgiving(sys.stderr)))
    if not console.is_interactive:
        yield show_nothing
        return
    columns = (TextColumn("{task.description:<15}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task("", total=steps)
    begun = count()

    def show(step: str) -> None:
        bar.update(task, description=step, completed=next(begun))
        # Compiled checkers hold the interpreter, so the thread that draws may not run before they end.
        bar.refresh()

    late = threading.Timer(PATIENCE_S, bar.start)
    late.daemon = True
    late.start()
    try:
        yield show
    finally:
        late.cancel()
        late.join()
        bar.stop()


def showing(show: Show, checkers: Mapping[str, Checker]) -> dict[str, Checker]:
    """The same checkers, but each one shows its name when it begins."""
    return {name: _showing(show, name, checker) for name, checker in checkers.items()}


def _showing(show: Show, name: str, checker: Checker) -> Checker:
    def check(history: History) -> CheckerResult:
        show(name)
        return checker(history)

    return check
