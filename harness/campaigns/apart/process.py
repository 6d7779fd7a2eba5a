"""The parent's side: starts the process of runs, sends orders, ends it early, notices its death."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, TextIO

import click

import harness
from harness.campaigns.apart.messages import Answer, Began, Failed, Order, StopRequest
from harness.campaigns.performing import RunJudged
from harness.record.ownership import this_process

CHILD = f"{__package__}.child"
_POLL_S = 0.2
"""Interval at which a run checks whether it is to end early, seconds."""
_LINES_MAX = 400
_BOUND_S = 30.0
"""How long to wait for the last output of a dead process."""
ROOT = Path(harness.__file__).parent.parent


class DiedError(Exception):
    """The process of a run ended without an order to end."""


class Process:
    """A process in which runs are made, one after the other.

    Args:
        runs: the store.

    Attributes:
        owner: the process, as labels and ledgers name it.
    """

    def __init__(self, runs: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = start(
                CHILD, theirs.fileno(), runs, *sys.argv, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()]
            )
        self._connection: Connection[Order | StopRequest, Answer] = Connection(ours.detach())
        self.owner = this_process(self._process.pid)
        self._stderr = _Stderr(self._process.stderr)

    def perform(self, order: Order, cancelled: threading.Event, began: Callable[[Path], None]) -> RunJudged:
        """Let the child make a run.

        Args:
            order: the run.
            cancelled: when set, the run ends early.
            began: called with the run's folder.

        Raises:
            DiedError: the process ended instead.
            Exception: what the run raised.
            KeyboardInterrupt: the command is to stop at once; the process has stopped.
        """
        try:
            self._send(order)
            while isinstance(answer := self._answer(cancelled), Began):
                began(answer.folder)
        except KeyboardInterrupt:
            self._stop()
            raise
        if isinstance(answer, Failed):
            raise answer.error
        return answer

    def wait_and_clear(self) -> tuple[int, list[str]]:
        """Wait for its end, and end its child processes; returns exit code and last lines of stderr."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        code = self._end_all()
        self._connection.close()
        return code, self._stderr.lines()

    def cancel(self) -> None:
        """Order the process to begin no more runs; a dead process begins none."""
        with suppress(DiedError):
            self._send(StopRequest.CANCEL)

    def close(self) -> None:
        """Order the process to end and to remove the cluster that waits; a second signal ends it at once."""
        self._connection.close()
        try:
            self._process.wait()
        finally:
            self._end_all()
            self._stderr.lines()

    def _send(self, message: Order | StopRequest) -> None:
        try:
            self._connection.send(message)
        except OSError as error:
            raise DiedError from error

    def _answer(self, cancelled: threading.Event) -> Answer:
        cancel_sent = False
        try:
            while not self._connection.poll(_POLL_S):
                if cancelled.is_set() and not cancel_sent:
                    self._send(StopRequest.CANCEL)
                    cancel_sent = True
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise DiedError from error

    def _stop(self) -> None:
        """Stop the process as a second Ctrl-C does; if a signal arrives meanwhile, kill the process."""
        try:
            with suppress(DiedError):
                self._send(StopRequest.STOP)
            self._process.wait()
        finally:
            self._end_all()

    def _end_all(self) -> int:
        """End the process and its session, such as writers of a bulk load; returns the exit code."""
        if self._process.returncode is None:  # its process id is not reused before `wait` has returned
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()


def start(
    module: str,
    *words: object,
    stdout: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int | None = None,
    pass_fds: Collection[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a module as a process in a separate session.

    Args:
        module: its name.
        words: its arguments.
        stdout: its standard output; by default this process's.
        stderr: its standard error; by default this process's.
        pass_fds: files that it inherits.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=handle_of(sys.stdout) if stdout is None else stdout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=True,
    )


def handle_of(stream: TextIO | None) -> int | None:
    """The file behind a stream; None without one, so that a process inherits ours."""
    if stream is None:
        return None
    with suppress(OSError):  # the reader may be gone
        stream.flush()
    try:
        return stream.fileno()
    except OSError:
        return None


class _Stderr:
    """Copies a process's stderr to ours, and keeps the last lines."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        if stream is None:
            raise AssertionError("stderr must be a pipe")
        self._stream = stream
        self._lines: deque[str] = deque(maxlen=_LINES_MAX)
        self._reading = threading.Thread(target=self._read, name="stderr", daemon=True)
        self._reading.start()

    def lines(self) -> list[str]:
        """The lines that were kept, after the end of the output."""
        self._reading.join(_BOUND_S)
        return list(self._lines)

    def _read(self) -> None:
        with self._stream:
            for line in self._stream:
                text = line.decode(errors="replace")
                self._lines.append(text.rstrip("\n"))
                with suppress(OSError):  # the reader may be gone, which must not block the process
                    click.echo(text, err=True, nl=False)
