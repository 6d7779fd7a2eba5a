"""A shell that stays open: what each command printed, its exit code, and what is done where it is gone."""

import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.shells import ContainerShell, shell_of
from harness.errors import EngineError


class Engine:
    """Has shells on this host; its connections speak in frames, as those of a container do."""

    def __init__(self) -> None:
        self.opened: list[subprocess.Popen[bytes]] = []
        self.ends: list[socket.socket] = []
        self.framing: list[threading.Thread] = []

    @property
    def container(self) -> Any:
        api = SimpleNamespace(exec_create=self._create, exec_start=self._start)
        return SimpleNamespace(id="abc", name="n1-net", client=SimpleNamespace(api=api))

    def close(self) -> None:
        for shell in self.opened:
            shell.kill()
            shell.wait()
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self.framing:
            thread.join()
        for shell in self.opened:
            shell.communicate()
        for end in self.ends:
            end.close()

    def _create(self, container: str, command: list[str], *, stdin: bool) -> dict[str, str]:
        assert (container, command, stdin) == ("abc", ["/bin/bash"], True)
        return {"Id": "e1"}

    def _start(self, made: str, *, socket: bool) -> Any:
        assert (made, socket) == ("e1", True)
        return SimpleNamespace(_sock=(connection := self._connected()), close=connection.close)

    def _connected(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        shell = subprocess.Popen(
            ["/bin/bash"], stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.opened.append(shell)
        self.ends += [theirs, ours]
        self.framing.append(threading.Thread(target=self._frame, args=(shell, theirs), daemon=True))
        self.framing[-1].start()
        return ours

    @staticmethod
    def _frame(shell: "subprocess.Popen[bytes]", end: socket.socket) -> None:
        assert shell.stdout is not None
        with suppress(OSError):  # nobody may be there to hear
            while data := shell.stdout.read1(7):  # type: ignore[attr-defined]
                end.sendall(struct.pack(">BxxxL", 1, len(data)) + data)
            end.shutdown(socket.SHUT_WR)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.close()


@pytest.fixture
def shell(engine: Engine) -> ContainerShell:
    return shell_of(engine.container)


def test_commands_of_many_are_answered_each_with_its_own_output(
    engine: Engine, shell: ContainerShell
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: shell.run(f"echo {number}; echo no >&2"), range(40)))
    assert answers == [(0, f"{number}\nno\n".encode()) for number in range(40)]
    assert len(engine.opened) == 1


@pytest.mark.parametrize(
    ("command", "ended"),
    [
        ("true", (0, b"")),
        ("exit 3", (3, b"")),
        ("cat; echo nothing to read", (0, b"nothing to read\n")),
        ("cd /; x=1", (0, b"")),
        ("echo ${x:-unset}", (0, b"unset\n")),
        ("printf 'no end of line'", (0, b"no end of line")),
        ("sleep 0 & echo a; wait", (0, b"a\n")),
    ],
)
def test_a_command_has_a_shell_of_its_own(
    shell: ContainerShell, command: str, ended: tuple[int, bytes]
) -> None:
    assert shell.run(command) == ended
    assert shell.run("echo on") == (0, b"on\n")


def test_one_that_is_gone_is_reported_and_the_next_command_opens_another(
    engine: Engine, shell: ContainerShell
) -> None:
    assert shell.run("echo one").output == b"one\n"
    engine.opened[0].kill()
    with pytest.raises(EngineError, match="the shell in n1-net is gone"):
        shell.run("echo two")
    assert shell.run("echo three").output == b"three\n"
    assert len(engine.opened) == 2


def test_it_is_closed_with_the_last_who_uses_it(engine: Engine) -> None:
    shell = shell_of(engine.container)
    shell.run("true")
    del shell
    assert engine.opened[0].wait(10) == 0


def test_one_that_cannot_be_opened_is_reported() -> None:
    def refuse() -> Any:
        raise ConnectionResetError("nobody there")

    with pytest.raises(EngineError, match="the shell in n1-net is gone") as error:
        ContainerShell("n1-net", refuse).run("true")
    assert error.value.got == "nobody there"
