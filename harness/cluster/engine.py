"""The Docker engine: connects to it, starts it, and describes it."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import docker
from docker.errors import DockerException
from requests.exceptions import ReadTimeout, RequestException
from urllib3.exceptions import HTTPError, ReadTimeoutError

from harness.cluster.folders import cache_folder
from harness.errors import EngineError

DEFAULT_HOST = "unix:///var/run/docker.sock"
Engine = docker.DockerClient
"""For annotations in modules that only pass a client on and don't use Docker's interface."""
ANSWER_LIMIT_S = 120
START_LIMIT_S = 60
POLL_S = 0.2
SYSTEMD_RUNS = Path("/run/systemd/system")


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What Docker reports about itself.

    Attributes:
        version: its version.
        storage_driver: e.g. ``overlay2``.
        data_root: the folder on the engine's host where images and volumes lie.
        cgroup_version: ``1`` or ``2``.
        kernel: release of its kernel.
        system: its operating system.
        processors: number of processors.
        memory_bytes: physical memory.
    """

    version: str
    storage_driver: str
    data_root: str
    cgroup_version: str
    kernel: str
    system: str
    processors: int
    memory_bytes: int


def connect(limit_s: int = ANSWER_LIMIT_S) -> Engine:
    """Connect to the engine, which may be silent for `limit_s` seconds in each request.

    Raises:
        EngineError: if no engine answers.
    """
    try:
        _try_socket(limit_s)
        client = docker.from_env(timeout=limit_s)
        client.ping()
    except (OSError, DockerException, RequestException) as error:
        raise _unreachable(error) from error
    return client


@contextmanager
def engine_errors_named() -> Iterator[None]:
    """Convert refusals and timeouts of Docker in the block to an `EngineError`.

    Use it inside `disk_errors_named`, because network errors are OSErrors too.
    """
    try:
        yield
    except (ReadTimeout, ReadTimeoutError) as error:
        raise EngineError(
            "the Docker engine no longer answers",
            got=" ".join(str(error).split())[:500],
            expected="an answer in time; engines before 23.0 can lock up for good (moby/moby#42545)",
            where=engine_address(),
            next_step="restart the engine if docker run hangs as well, then krucible heal",
        ) from error
    except (DockerException, RequestException, HTTPError) as error:  # the last: while a stream is read
        raise EngineError(
            "the Docker engine refused, or stopped answering",
            got=" ".join(str(error).split())[:500],
            where=engine_address(),
            next_step="krucible doctor; when the engine answers again, krucible heal",
        ) from error


def engine_address() -> str:
    """The address of the engine."""
    return os.environ.get("DOCKER_HOST", DEFAULT_HOST)


def _try_socket(limit_s: int) -> None:
    """Try the engine's socket first, because the client library leaves a socket open after a failure."""
    scheme, _, path = engine_address().partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(limit_s)
            door.connect(path)


@contextmanager
def client_or_new(client: Engine | None) -> Iterator[Engine]:
    """The client that was given, or a new one that is closed afterwards.

    Raises:
        EngineError: if no engine answers.
    """
    if client is not None:
        yield client
        return
    with closing(connect()) as new:
        yield new


def _unreachable(error: Exception) -> EngineError:
    """The error for an unreachable engine, with the remedy for each of three causes."""
    if isinstance(error, PermissionError):
        what, step = (
            "this user has no permission to use the Docker engine",
            "sudo usermod -aG docker $USER, log in again",
        )
    elif shutil.which("dockerd") is None and "DOCKER_HOST" not in os.environ:
        what, step = "there is no Docker engine on this host", "krucible setup"
    else:
        what, step = "the Docker engine does not answer", "krucible setup, or systemctl start docker"
    return EngineError(
        what, got=str(error), expected="an engine that answers", where=engine_address(), next_step=step
    )


def engine_facts(client: Engine) -> EngineFacts:
    """Read the facts that an engine reports about itself.

    Raises:
        EngineError: if it does not answer.
    """
    try:
        info = client.info()
    except (DockerException, RequestException) as error:
        raise _unreachable(error) from error
    return EngineFacts(
        version=str(info["ServerVersion"]),
        storage_driver=str(info["Driver"]),
        data_root=str(info["DockerRootDir"]),
        cgroup_version=str(info.get("CgroupVersion", "1")),
        kernel=str(info["KernelVersion"]),
        system=str(info["OperatingSystem"]),
        processors=int(info["NCPU"]),
        memory_bytes=int(info["MemTotal"]),
    )


def compose_binary() -> tuple[str, ...]:
    """The command that starts compose files: ``docker compose`` if it exists, else ``docker-compose``.

    Raises:
        EngineError: if there is neither.
    """
    # docker-compose 1.x is Python: with this repository on PYTHONPATH it would import our package `compose`.
    clean = ("env", "-u", "PYTHONPATH") if "PYTHONPATH" in os.environ else ()
    for command in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(command[0]) and _succeeds([*clean, *command, "version"]):
            return (*clean, *command)
    raise EngineError(
        "there is no compose",
        got="neither docker compose nor docker-compose works",
        expected="one of them",
        next_step="krucible setup, or apt-get install docker-compose",
    )


@cache
def compose_of_process() -> tuple[str, ...]:
    """The first result of `compose_binary`, which is cached because docker-compose takes half a second.

    Raises:
        EngineError: if `compose_binary` raises it; the next call tries again.
    """
    return compose_binary()


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def start_engine() -> Path | None:
    """Start the engine and wait until it answers; it outlives the command that started it.

    Returns:
        The engine's log file, or None if systemd stores the log.

    Raises:
        EngineError: if it does not answer in time, with the end of its log.
    """
    if SYSTEMD_RUNS.is_dir():
        subprocess.run(["systemctl", "start", "docker"], capture_output=True, check=False)
        _wait_until_it_answers(None)
        return None
    log = _log_file()
    with log.open("ab") as output:
        engine = subprocess.Popen(
            ["dockerd"], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    _wait_until_it_answers(log, engine)
    engine.returncode = 0  # it outlives this process and nothing waits for it, so Popen must not warn
    return log


def _log_file() -> Path:
    shared = Path("/var/log")
    if os.access(shared, os.W_OK):
        return shared / "krucible-dockerd.log"
    cache_folder().mkdir(parents=True, exist_ok=True)
    return cache_folder() / "dockerd.log"


def _wait_until_it_answers(log: Path | None, engine: "subprocess.Popen[bytes] | None" = None) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            connect(limit_s=5).close()
        except EngineError as error:
            ended = engine is not None and engine.poll() is not None
            if ended or time.monotonic() > deadline:
                raise _did_not_start(log, error) from error
            time.sleep(POLL_S)
        else:
            return


def _did_not_start(log: Path | None, last: EngineError) -> EngineError:
    tail = log.read_text(errors="replace").splitlines()[-3:] if log else []
    return EngineError(
        "the Docker engine did not start",
        got="; ".join(tail) or last.got,
        where=str(log or "systemd"),
        next_step=f"read {log}" if log else "journalctl --unit docker",
    )
