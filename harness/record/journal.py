"""The journal: each operation is on disk before the next one begins.

A journal has one writer thread or several that share it.  Every operation is written as one line with one
``write`` and without a buffer, so a harness that is killed leaves at most one incomplete line.  The format is
described in docs/histories.md.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.operations import FORMAT_VERSION, JournalHeader, Operation, OperationType
from checkers.history.runner import END, OPENED, JournalEnded, JournalOpened
from harness.errors import KrucibleError
from harness.record.events import Event, Listener, Recorded

_NEXT_STEPS = {
    errno.ENOSPC: "free space on the disk that holds the run, then run again",
    errno.EDQUOT: "raise the quota of the disk that holds the run, then run again",
    errno.EIO: "look at the host's disk (dmesg), then run again",
    errno.EEXIST: "give the journal another name: every writer has its own file",
}


RUNNER = "runner"
"""Name of the journal that lists all others."""


class JournalError(KrucibleError):
    """The history can no longer be written; earlier lines are kept."""


_FIRST_AND_LAST = 2
"""Lines that are no operations: a journal's header and its end."""


class Clock:
    """Nanoseconds since the run began, by the host's CLOCK_MONOTONIC.

    Attributes:
        began_ns: what `source` (by default CLOCK_MONOTONIC) returned at the start of the run.  All processes
            of a host have the same CLOCK_MONOTONIC, so this value can be passed to another process.
    """

    def __init__(self, began_ns: int | None = None, source: Callable[[], int] = time.monotonic_ns) -> None:
        self._source = source
        self.began_ns = source() if began_ns is None else began_ns

    def now_ns(self) -> int:
        """Nanoseconds since the run began."""
        return self._source() - self.began_ns


Key = int | str | None
"""The object of an operation."""
Value = msgspec.Struct | Sequence[object] | int | None
"""The request or result of an operation: a struct of `checkers.history`, or a plain value; no dictionary."""


class JournalEntry(NamedTuple):
    """The fields of an operation, before the journal adds its index and time; as in `Operation`."""

    process: int | str
    type: OperationType
    f: str
    key: Key = None
    value: Value = None
    error: str | None = None
    node: str | None = None


class Journal:
    """One append-only file of operations; safe to share between threads.

    Args:
        path: path of the file.
        header: its first line.
        clock: clock of the run.
        listener: gets every operation.
        operations: number of operations that another writer left in the file, to continue after them; None
            for a new file.

    Raises:
        JournalError: the file exists although it must be new, or it can't be written.
    """

    def __init__(
        self,
        path: Path,
        header: JournalHeader,
        clock: Clock,
        listener: Listener | None = None,
        operations: int | None = None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.name = header.journal
        self._listener = listener
        self._lock = threading.Lock()
        self._index = operations or 0
        self._outstanding: dict[int | str, str] = {}
        self._broken: JournalError | None = None
        self._fd = self._open(begun=operations is not None)
        if operations is not None:
            return
        try:
            self._write(msgspec.json.encode(header) + b"\n")
        except JournalError:
            self.close()
            raise

    def append(self, entry: JournalEntry, time_ns: int | None = None) -> Operation:
        """Write one operation; when this returns, it is no longer in a buffer of this process.

        Args:
            entry: fields of the operation.
            time_ns: time of the operation, nanoseconds since the run began; None: now.

        Raises:
            JournalError: it could not be written. Every later call raises the same.
        """
        with self._lock:
            when = self.clock.now_ns() if time_ns is None else time_ns
            operation = self._put(entry, when)
        if self._listener is not None:
            self._listener(Recorded(operation))
        return operation

    def end(self, journals: Sequence[tuple[str, str | None, int | None]] = ()) -> int | None:
        """Write the last line, which shows that nothing is missing, and close the file.

        A journal with an outstanding operation gets no last line, because its writer was abandoned.

        Args:
            journals: what the runner's journal records about the others.

        Returns:
            Number of lines of the journal; None if it got no last line.
        """
        with self._lock, suppress(JournalError):  # a disk that is full has been reported
            if not self._outstanding:
                lines = self._index + _FIRST_AND_LAST
                entry = JournalEntry(
                    self.name, OperationType.OK, END, value=JournalEnded(lines, tuple(journals))
                )
                self._put(entry, self.clock.now_ns())
                self._close()
                return lines
        self.close()
        return None

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put(self, entry: JournalEntry, time_ns: int) -> Operation:
        """Write an operation, and note whether its process then has an outstanding operation."""
        operation = Operation(self._index, time_ns, *entry)
        self._write(msgspec.json.encode(operation) + b"\n")
        self._index += 1
        if entry.type is OperationType.INVOKE:
            self._outstanding[entry.process] = entry.f
        elif self._outstanding.get(entry.process) == entry.f:
            del self._outstanding[entry.process]
        return operation

    def _open(self, *, begun: bool) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (0 if begun else os.O_CREAT | os.O_EXCL)
        if self.path.is_char_device():  # a test's /dev/full
            flags &= ~os.O_EXCL
        try:
            return os.open(self.path, flags, 0o644)
        except OSError as error:
            raise _journal_error("the history can't be opened", error, self.path) from error

    def _write(self, line: bytes) -> None:
        if self._broken is not None:
            raise self._broken
        if self._fd < 0:
            raise JournalError("the history is closed", where=str(self.path))
        try:
            written = os.write(self._fd, line)
            while written < len(line):  # a disk that is nearly full writes a part, then raises
                written += os.write(self._fd, line[written:])
        except OSError as error:
            self._broken = _journal_error("the history can't be written", error, self.path)
            raise self._broken from error


class Journals:
    """The journals of one run: a folder, a run id, a clock, and a listener to all of them.

    The journal of the runner, opened first, records each other one when it begins, and lists all at its end.
    """

    def __init__(self, folder: Path, run: str, clock: Clock, listener: Listener | None = None) -> None:
        self.folder = folder
        self.run = run
        self.clock = clock
        self.began_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._listener = listener
        self._opened: dict[str, Journal] = {}
        self._roles: dict[str, str | None] = {}
        self._lock = threading.Lock()

    def open(self, name: str, role: str | None = None) -> Journal:
        """Begin a journal of this name, unique in the run; the file is ``history-<name>.jsonl``.

        Args:
            name: name of the journal.
            role: role of its writer, such as ``producer`` or ``observer``.

        Raises:
            JournalError: there is a journal of this name, or the disk can't be written.
        """
        # Listed first: a listed journal that is missing is reported, but one that is not listed may get lost.
        self.expect(name, role)
        journal = Journal(
            self.folder / f"history-{name}.jsonl", self.header(name), self.clock, self._listener
        )
        with self._lock:
            self._opened[name] = journal
        return journal

    def expect(self, name: str, role: str | None = None) -> None:
        """List a journal that another OS process begins and ends.

        Raises:
            JournalError: the disk can't be written.
        """
        with self._lock:
            runner = self._opened.get(RUNNER)
            known = name in self._roles
            self._roles.setdefault(name, role)
        if runner is not None and not known:
            runner.append(JournalEntry(RUNNER, OperationType.OK, OPENED, name, JournalOpened(role)))

    def header(self, name: str) -> JournalHeader:
        """First line of a journal of this run."""
        return JournalHeader(FORMAT_VERSION, self.run, name, self.began_at)

    def announce(self, event: Event) -> None:
        """Send an event to the listener that no journal of this process records."""
        if self._listener is not None:
            self._listener(event)

    def close(self) -> None:
        """End and close all journals, the runner's last; a second call does nothing."""
        with self._lock:
            opened, self._opened = self._opened, {}
        runner = opened.pop(RUNNER, None)
        lines = {name: journal.end() for name, journal in opened.items()}
        if runner is not None:
            runner.end(
                [(name, role, lines.get(name)) for name, role in self._roles.items() if name != RUNNER]
            )


class OperationOutcome:
    """The outcome of an operation, set by the code that performs it; ``info`` by default."""

    def __init__(self, value: Value) -> None:
        self.type = OperationType.INFO
        self.value = value
        self.error: str | None = None

    def ok(self, value: Value) -> None:
        """Set the outcome ``ok``, with this result."""
        self.end(OperationType.OK, value)

    def end(self, kind: OperationType, value: Value, error: str | None = None) -> None:
        """Set the outcome; the last call counts."""
        self.type, self.value, self.error = kind, value, error


class Recorder:
    """One process of the history: at most one operation outstanding, retired by ``info`` or on request.

    Args:
        journal: journal that it writes.
        process: its number, or the name of a singleton; a singleton is never retired.
        workers: difference between the numbers of a process and its successor; 0 for singletons.
    """

    def __init__(self, journal: Journal, process: int | str, workers: int = 0) -> None:
        if isinstance(process, int) and workers <= process:
            raise ValueError(f"worker {process} of {workers}: workers are numbered from 0")
        self.journal = journal
        self.process = process
        self._workers = workers
        self._outstanding: JournalEntry | None = None

    def invoke(self, f: str, key: Key = None, value: Value = None, node: str | None = None) -> Operation:
        """Write that an operation begins; it must be called before the request is sent.

        Raises:
            RuntimeError: the process has an operation outstanding.
            JournalError: it could not be written, so the operation must not begin.
        """
        if self._outstanding is not None:
            raise RuntimeError(f"process {self.process} still has {self._outstanding.f} outstanding")
        entry = JournalEntry(self.process, OperationType.INVOKE, f, key, value, node=node)
        operation = self.journal.append(entry)
        self._outstanding = entry
        return operation

    def complete(self, kind: OperationType, value: Value = None, error: str | None = None) -> Operation:
        """Write the outcome of the outstanding operation; ``info`` retires the process.

        Raises:
            RuntimeError: no operation is outstanding, or `kind` is no completion.
        """
        begun = self._outstanding
        if begun is None or kind is OperationType.INVOKE:
            raise RuntimeError(f"process {self.process} has nothing to complete as {kind}")
        operation = self.journal.append(begun._replace(type=kind, value=value, error=error))
        self._outstanding = None
        if kind is OperationType.INFO:
            self.retire()
        return operation

    def retire(self) -> None:
        """Continue with another process number, because the client is replaced; singletons keep their name.

        Raises:
            RuntimeError: an operation is outstanding.
        """
        if self._outstanding is not None:
            raise RuntimeError(f"process {self.process} still has {self._outstanding.f} outstanding")
        if isinstance(self.process, int):
            self.process += self._workers

    @contextmanager
    def operation(
        self, f: str, key: Key = None, value: Value = None, node: str | None = None
    ) -> Iterator[OperationOutcome]:
        """Invoke, run the body, which sets the outcome, and complete; after an exception as ``info``."""
        self.invoke(f, key, value, node)
        outcome = OperationOutcome(value)
        try:
            yield outcome
        except JournalError:
            raise
        except BaseException as error:
            self.complete(OperationType.INFO, value, describe(error))
            raise
        self.complete(outcome.type, outcome.value, outcome.error)

    def observe(self, f: str, key: Key = None, value: Value = None, node: str | None = None) -> Operation:
        """Write a single ``ok`` without an invocation."""
        return self.journal.append(JournalEntry(self.process, OperationType.OK, f, key, value, node=node))


def describe(error: BaseException, separator: str = " ") -> str:
    """An exception as one line of at most 300 characters: its type and its text.

    Args:
        error: the exception.
        separator: what stands between the lines of its text.
    """
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    text = separator.join(line for line in lines if line)
    name = type(error).__name__
    return (text if text.startswith(name) else f"{name}: {text}" if text else name)[:300]


def _journal_error(what: str, error: OSError, path: Path) -> JournalError:
    return JournalError(
        what,
        got=error.strerror or str(error),
        where=str(path),
        next_step=_NEXT_STEPS.get(error.errno or 0, "fix the disk or folder, then run again"),
    )
