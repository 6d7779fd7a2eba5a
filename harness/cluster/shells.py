"""A shell that stays open in a container, because a new one for each command takes ten times as long.

Commands are sent to it one after the other; after each one it prints the exit code.
"""

import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from docker.errors import DockerException
from requests.exceptions import RequestException

from harness.cluster.engine import engine_errors_named
from harness.errors import EngineError

_SHELL = ["/bin/bash"]
_HEADER = struct.Struct(">BxxxL")
_OVER = b"\0over "
"""Separates a command's output from its exit code; no command that we run prints a zero byte."""
ANSWER_LIMIT_S = 120.0


class Connection(Protocol):
    """A socket, as far as it is used here."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of the data."""

    def recv(self, size: int, /) -> bytes:
        """At least one byte; none at the end."""

    def settimeout(self, timeout_s: float, /) -> None:
        """Set the time limit of each call."""


class CommandResult(NamedTuple):
    """A command's exit code, and its output including errors."""

    code: int
    output: bytes


class ContainerShell:
    """A shell in one container, opened with its first command; threads may share it.

    Args:
        name: name of the container.
        open_: opens a shell there; returns the connection, and a function that closes it.
    """

    def __init__(self, name: str, open_: Callable[[], tuple[Connection, Callable[[], object]]]) -> None:
        self._name = name
        self._open = open_
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._close: Callable[[], object] = lambda: None

    @engine_errors_named()
    def run(self, command: str) -> CommandResult:
        """Run a command after earlier ones have ended.

        Raises:
            EngineError: Docker refuses, or the shell is gone; the next command opens another one.
        """
        with self._lock:
            try:
                connection = self._connection or self._opened()
                # A separate subshell for each command, which can't read later input.
                connection.sendall(f"( {command}\n) </dev/null 2>&1\nprintf '\\0over %d\\n' $?\n".encode())
                return _ended(connection)
            except BaseException as error:
                # Its remaining output must not be read as the answer to the next command.
                self._connection = None
                self._close()
                if isinstance(error, OSError) and not isinstance(error, RequestException):
                    raise self._gone(str(error) or type(error).__name__, command) from error
                raise

    def _opened(self) -> Connection:
        connection, close = self._open()
        self._connection, self._close = connection, weakref.finalize(self, close)
        connection.settimeout(ANSWER_LIMIT_S)
        return connection

    def _gone(self, why: str, command: str) -> EngineError:
        return EngineError(
            f"the shell in {self._name} is gone", got=why, where=command[:200], next_step="krucible doctor"
        )


def shell_of(container: Any) -> ContainerShell:
    """A shell in a container object of Docker's library."""

    def opened() -> tuple[Connection, Callable[[], object]]:
        api = container.client.api
        made = api.exec_create(container.id, _SHELL, stdin=True)
        stream = api.exec_start(made["Id"], socket=True)
        # Over a Unix socket the library returns only a reader of it.
        connection: Connection = getattr(stream, "_sock", stream)

        def close() -> None:
            with suppress(OSError, DockerException):
                stream.close()
                connection.close()  # type: ignore[attr-defined]  # a socket, in any case

        return connection, close

    return ContainerShell(str(container.name), opened)


def _ended(connection: Connection) -> CommandResult:
    """Read the output until the command ends."""
    received = b""
    while not (received.endswith(b"\n") and _OVER in received):
        _, length = _HEADER.unpack(_exactly(connection, _HEADER.size))
        received += _exactly(connection, length)
    output, _, code = received.rpartition(_OVER)
    return CommandResult(int(code), output)


def _exactly(connection: Connection, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("it ended")
        data += piece
    return data
