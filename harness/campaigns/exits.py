"""Exit codes, and errors as text with the next step.

Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the harness failed, 64 the command is wrong.
"""

import io
import sys
import tempfile
import traceback
from collections.abc import Callable

import click

from checkers.history.reading import HistoryError
from harness.errors import KrucibleError, UsageError, refused
from results.pipeline.errors import NotTablesError
from results.store.runs import RunNotFoundError, StoreError

EXIT_FAILED = KrucibleError.exit_code
EXIT_USAGE = UsageError.exit_code
EXIT_INTERRUPTED = 130
_PLAIN_SHOW = click.UsageError.show
"""An error of ours that is also one of click's has a method of its own."""


def forgive_streams() -> None:
    """Let stdout and stderr escape characters that the terminal can't encode, such as those of file names."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def coded(action: Callable[[], object]) -> int:
    """The result of an action as an exit code; any error is reported, without a traceback."""
    try:
        code = action()
    except click.ClickException as error:
        _show(error)
        return EXIT_USAGE
    except SystemExit as error:  # raised by click for shell completions, or when the reader is gone
        return 0 if error.code == 0 else EXIT_FAILED  # here 1 would mean invalid
    except Exception as error:  # noqa: BLE001 - last line of defence: the error is printed or saved to a file, never hidden
        text, code = _explained(error)
        click.echo(f"krucible: {text}", err=True)
    return code if isinstance(code, int) else 0


def _show(error: click.ClickException) -> None:
    """Print an error of click's own, such as an unknown command, in the form of all other errors."""
    if not isinstance(error, click.UsageError) or error.ctx is None or type(error).show is not _PLAIN_SHOW:
        error.show()
        return
    text, command = error.format_message(), error.ctx.command_path
    shown = UsageError(text[:1].lower() + text[1:].rstrip("."), where=command, next_step=f"{command} --help")
    click.echo(f"krucible: {shown}", err=True)


def _explained(error: Exception) -> tuple[str, int]:
    """The text for an error, and the exit code."""
    match error:
        case click.Abort():
            return "interrupted", EXIT_INTERRUPTED
        case RunNotFoundError() | NotTablesError():
            return str(error), EXIT_USAGE
        case HistoryError() | StoreError():
            return str(_refusal(error) if isinstance(error, HistoryError) else error), EXIT_FAILED
        case KrucibleError():
            return str(error), error.exit_code
        case OSError():
            return str(refused(error)), EXIT_FAILED
        case _:
            return _saved_traceback(error), EXIT_FAILED


def _refusal(error: HistoryError) -> KrucibleError:
    """An error about a history in the form of all other errors."""
    return KrucibleError(
        "that folder has no history that can be judged",
        got=error.problem,
        expected=error.expected,
        where=error.place,
        next_step=error.next_step,
    )


def _saved_traceback(error: Exception) -> str:
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="krucible-", suffix=".traceback", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.write(text)
        where = file.name
    except OSError:  # the disk is full
        where = " < ".join(line.strip() for line in reversed(text.splitlines()[-7:]))
    return (
        f"a defect of krucible\n  got:      {type(error).__name__}: {error}\n"
        f"  where:    {where}\n  next:     please report this message, and the file if it names one"
    )
