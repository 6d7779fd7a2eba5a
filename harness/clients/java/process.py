"""The run's end of the process that has the JVM: start it, connect clients to it, notice its death."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import harness
from harness.clients.interface import ClientKind, NotOfferedError
from harness.clients.java.messages import Answer, ClientCall, Options
from harness.errors import KrucibleError
from harness.record import deaths

LOG_FILE = "{}.log"
"""File in a run's folder, by the name of the client: what the process wrote to stderr."""
CRASH_FILE = "{}-crash.log"
"""File in a run's folder, by the name of the client: what the JVM wrote when it crashed."""
JAVA_MEND = "on Debian: apt-get install default-jre-headless, or set JAVA_HOME"
"""What gives a host the client, where Java is missing."""
_CHILD = f"{__package__}.child"
_START_S = 120.0
"""Ten times what a busy host of two processors took."""
_LOOK_S = 0.5
_END_S = 5.0
_NO_BACKEND = "SLF4J:"
"""What says that the library logs nothing, which it says at every start."""
_ROOT = Path(harness.__file__).parent.parent


class JavaDiedError(KrucibleError):
    """The process of kafka-clients ended during a run."""


def java_missing() -> str | None:
    """Why kafka-clients is not offered on this host, or None."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "java is not installed"
    if importlib.util.find_spec("jpype") is None:
        return "the Python package JPype1 is not installed"
    return None


class StartCancelledError(Exception):
    """A process is no longer wanted, and was ended before it was ready."""


class JavaProcess:
    """A process in which any number of clients of one version of kafka-clients work.

    Args:
        jars: kafka-clients and what it needs.
        folder: gets what the process writes.
        kind: which version the jars are of.
        name: begins the names of its files, instead of `kind`.
        cancelled: when set, its start is no longer awaited.

    Raises:
        KrucibleError: it did not start.
        StartCancelledError: its start is no longer awaited.
    """

    def __init__(
        self,
        jars: Sequence[Path],
        folder: Path,
        kind: ClientKind = ClientKind.JAVA,
        *,
        name: str | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        self.kind = kind
        self._cancelled = cancelled or threading.Event()
        self._log = folder / LOG_FILE.format(name or kind)
        self._crash = folder / CRASH_FILE.format(name or kind)
        self._passing = threading.Lock()
        self._ours, theirs = socket.socketpair()
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        words = (_CHILD, theirs.fileno(), self._crash.resolve(), *jars)
        with theirs, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # Ctrl-C is for the harness, which ends its processes itself
                pass_fds=[theirs.fileno()],
            )
        try:
            self._await_start()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def connect(self) -> "Connection[Options | ClientCall, Answer]":
        """A connection for one client.

        Raises:
            JavaDiedError: the process has ended.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._passing:
                socket.send_fds(self._ours, [b"c"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise self.death() from error
        return Connection(ours.detach())

    def death(self) -> JavaDiedError:
        """What became of the process, which no longer answers."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return JavaDiedError(
            f"the client {self.kind} died",
            got=deaths.death_text(code, self._printed(), who=f"the process of {self.kind}"),
            where=str(self._log),
            next_step=f"read {self._log.name} and, if it is there, {self._crash.name} next to it",
        )

    def hung(self, why: str) -> JavaDiedError:
        """End it, because it no longer makes clients; a load without them must not pass for one with them."""
        self._process.kill()
        self._process.wait()
        return JavaDiedError(
            f"the client {self.kind} hangs",
            got=why,
            where=str(self._log),
            next_step=f"read {self._log.name}",
        )

    def kill(self) -> None:
        """End it at once, as SIGKILL does."""
        self._process.kill()
        self._process.wait()
        self._ours.close()

    def close(self) -> None:
        """End it; what its clients do is not awaited."""
        self._ours.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_start(self) -> None:
        received = self._first_word()
        if not received:
            code = self._process.wait()
            raise self._not_started(deaths.death_text(code, self._printed(), who="its process"))
        self._ours.settimeout(None)

    def _first_word(self) -> bytes:
        """What the process says once it is ready; nothing if it has ended."""
        self._ours.settimeout(_LOOK_S)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            try:
                return self._ours.recv(64)
            except TimeoutError:
                if self._cancelled.is_set():
                    raise StartCancelledError from None
        raise self._not_started(f"it was not ready after {_START_S:.0f} s")

    def _not_started(self, why: str) -> KrucibleError:
        return KrucibleError(
            f"the JVM of {self.kind} did not start",
            got=why,
            expected="Java 11 or newer",
            where=str(self._log),
            next_step=f"read {self._log.name}, or leave {self.kind} out of the scenario's libraries",
        )

    def _printed(self) -> list[str]:
        lines = self._log.read_text(errors="replace").splitlines()
        return [line for line in lines if not line.startswith(_NO_BACKEND)]


StartProcess = Callable[[str, threading.Event], JavaProcess]
"""Starts a process by its name; once the event is set, its start is no longer awaited."""


def needed(java: JavaProcess | None) -> JavaProcess:
    """The process of a load that has clients in it.

    Raises:
        NotOfferedError: it has none.
    """
    if java is None:
        raise NotOfferedError(f"{ClientKind.JAVA} without its process")
    return java


def ask(
    connection: "Connection[Any, Any]", message: Options | ClientCall, patience_s: float
) -> Answer | None:
    """Send a message and wait for its answer; None if there is none in time.

    Raises:
        OSError: the process has ended.
        EOFError: the same.
    """
    connection.send(message)
    if not connection.poll(patience_s):
        return None
    answer: Answer = connection.recv()
    return answer
