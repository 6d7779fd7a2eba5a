"""The record that another process writes about a harness that died during a run.

It is in a separate journal, where a later judgement of the run finds it.
"""

import signal
from collections.abc import Sequence
from pathlib import Path

from checkers.history.operations import FORMAT_VERSION, History, JournalHeader, OperationType
from checkers.history.phases import PHASE
from checkers.history.runner import FAILURE, HarnessFailed
from harness.record.harness_failures import FAILURES_FILE
from harness.record.journal import Clock, Journal, JournalEntry

AFTERMATH = "aftermath"
"""Name of the journal, and of the process that writes it."""
_AFTERMATH_FILE = f"history-{AFTERMATH}.jsonl"
_MEANINGS = {
    signal.SIGABRT: "an assertion of a client library failed",
    signal.SIGALRM: "a client library blocked it for two minutes",
    signal.SIGBUS: "a defect in a library, or a full disk",
    signal.SIGFPE: "a defect in a library",
    signal.SIGILL: "a defect in a library",
    signal.SIGKILL: "it was killed, or the kernel had no memory left (see dmesg)",
    signal.SIGSEGV: "a defect in a library",
}
_DUMPS = ("Fatal Python error:", "Timeout (")
"""The beginning of Python's dump of all threads."""
_LINES_MAX = 3
_CHARACTERS_MAX = 300


def is_noted(folder: Path) -> bool:
    """Whether the death of a run's harness was recorded."""
    return (folder / _AFTERMATH_FILE).is_file()


def death_text(code: int, stderr: Sequence[str], who: str = "the harness") -> str:
    """A sentence without a full stop about the end of a process.

    Args:
        code: its exit code; if a signal ended it, the negative number of the signal.
        stderr: the last lines that it wrote to stderr.
        who: name of the process.
    """
    ended = f"{who} was ended by {_signal(code)}" if code < 0 else f"{who} ended with {code}"
    last = _last(stderr)
    return f"{ended}; it last said: {last}" if last else ended


def note_death(folder: Path, history: History, error: str) -> None:
    """Record in a run's folder how its harness ended.

    The time is that of the last operation, because nothing was recorded after it.

    Raises:
        JournalError: the disk can't be written, or it was recorded already.
    """
    phases = [str(operation.key) for operation in history.of(PHASE)]
    last_ns = history.operations[-1].time_ns if history.operations else 0
    header = JournalHeader(FORMAT_VERSION, history.run, AFTERMATH, history.began_at)
    journal = Journal(folder / _AFTERMATH_FILE, header, Clock(0, lambda: last_ns))
    during = phases[-1] if phases else "the start"
    journal.append(JournalEntry(AFTERMATH, OperationType.OK, FAILURE, during, HarnessFailed(error)))
    journal.end()


def save_stderr(folder: Path, stderr: Sequence[str]) -> None:
    """Save what the process wrote to stderr, to debug the harness or a library.

    Raises:
        OSError: the disk can't be written.
    """
    with (folder / FAILURES_FILE).open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in stderr))


def _signal(code: int) -> str:
    try:
        number = signal.Signals(-code)
    except ValueError:  # those of real time have no names
        return f"signal {-code}"
    meaning = _MEANINGS.get(number)
    return f"{number.name} ({meaning})" if meaning else number.name


def _last(stderr: Sequence[str]) -> str:
    """The last lines before Python's dump of all threads; the dump's first line if there are none."""
    lines = [" ".join(line.split()) for line in stderr if line.strip()]
    dump = next((place for place, line in enumerate(lines) if line.startswith(_DUMPS)), len(lines))
    chosen = lines[:dump][-_LINES_MAX:] or lines[dump : dump + 1]
    return " / ".join(chosen)[-_CHARACTERS_MAX:]
