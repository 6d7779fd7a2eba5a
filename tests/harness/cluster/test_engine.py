"""The engine out of reach is one clear error; found programs are used, started engines are waited for."""

import os
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException
from requests.exceptions import ConnectionError as RequestsConnectionError
from urllib3.exceptions import ProtocolError

from harness.cluster import engine
from harness.cluster.engine import engine_errors_named
from harness.errors import EngineError, disk_errors_named


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    return folder


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_a_missing_socket_is_named_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineError, match="does not answer") as caught:
        engine.connect()
    assert caught.value.where == f"unix://{tmp_path}/none.sock"
    assert "krucible setup" in caught.value.next_step


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (PermissionError(13, "Permission denied"), "this user has no permission"),
        (FileNotFoundError(2, "No such file or directory"), "there is no Docker engine"),
        (DockerException("strange"), "there is no Docker engine"),
    ],
)
def test_the_ways_to_miss_an_engine_are_distinguished(
    monkeypatch: pytest.MonkeyPatch, error: Exception, what: str
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("DOCKER_HOST", raising=False)

    def refuse(_limit_s: int) -> None:
        raise error

    monkeypatch.setattr(engine, "_try_socket", refuse)
    with pytest.raises(EngineError, match=what) as caught:
        engine.connect()
    assert caught.value.got == str(error)
    assert caught.value.where == engine.DEFAULT_HOST


def test_an_engine_at_an_address_is_left_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    engine._try_socket(1)


def test_a_client_that_was_given_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    class Client:
        def close(self) -> None:
            closed.append("closed")

    monkeypatch.setattr(engine, "connect", Client)
    with engine.client_or_new(Client()):  # type: ignore[arg-type]
        pass
    assert closed == []
    with engine.client_or_new(None):
        assert closed == []
    assert closed == ["closed"]


def test_dockers_own_compose_is_preferred(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    script(programs / "docker-compose", "exit 0")
    script(programs / "docker", "exit 1")
    assert engine.compose_binary() == ("docker-compose",)
    script(programs / "docker", "exit 0")
    assert engine.compose_binary() == ("docker", "compose")


def test_a_python_path_is_kept_from_docker_compose(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its package is called compose, as ours is."""
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", ".")
    script(programs / "docker", "exit 1")
    script(programs / "docker-compose", 'test -z "$PYTHONPATH"')
    assert engine.compose_binary() == ("env", "-u", "PYTHONPATH", "docker-compose")


def test_without_any_compose_both_are_named(programs: Path) -> None:
    script(programs / "docker", "exit 1")
    script(programs / "docker-compose", "exit 1")
    with pytest.raises(EngineError, match="no compose"):
        engine.compose_binary()


def test_a_compose_that_was_found_is_not_looked_for_again(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    engine.compose_of_process.cache_clear()
    script(programs / "docker", "exit 1")
    script(programs / "docker-compose", "exit 1")
    with pytest.raises(EngineError, match="no compose"):
        engine.compose_of_process()
    script(programs / "docker-compose", "exit 0")
    assert engine.compose_of_process() == ("docker-compose",)
    script(programs / "docker-compose", "exit 1")
    assert engine.compose_of_process() == ("docker-compose",)
    engine.compose_of_process.cache_clear()


@pytest.fixture
def without_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(engine, "SYSTEMD_RUNS", tmp_path / "none")
    log = tmp_path / "dockerd.log"
    monkeypatch.setattr(engine, "_log_file", lambda: log)
    return log


def answers(monkeypatch: pytest.MonkeyPatch, once: Callable[[], bool]) -> None:
    """Let the engine answer once something holds."""

    class Client:
        def close(self) -> None:
            pass

    def connect(limit_s: int) -> Client:
        assert limit_s > 0
        if not once():
            raise EngineError("the Docker engine does not answer", got="no socket")
        return Client()

    monkeypatch.setattr(engine, "connect", connect)
    monkeypatch.setattr(engine, "POLL_S", 0.01)


def test_an_engine_is_started_apart_from_us_and_waited_for(
    programs: Path, without_systemd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, up = programs / "dockerd.ids", programs / "dockerd.up"
    script(programs / "dockerd", 'ps -o pid=,sid= -p $$ > "$0.ids"; touch "$0.up"; exec sleep 300')
    answers(monkeypatch, up.exists)
    assert engine.start_engine() == without_systemd
    process, session = ids.read_text().split()
    os.kill(int(process), signal.SIGKILL)
    assert session != str(os.getsid(0))


def test_an_engine_that_ends_shows_the_end_of_its_log(
    programs: Path, without_systemd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(programs / "dockerd", "echo cannot mount cgroups; exit 1")
    answers(monkeypatch, lambda: False)
    with pytest.raises(EngineError, match="did not start") as caught:
        engine.start_engine()
    assert caught.value.got == "cannot mount cgroups"
    assert str(without_systemd) in caught.value.next_step


def test_where_systemd_runs_it_starts_the_engine(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SYSTEMD_RUNS", tmp_path)
    script(programs / "systemctl", 'echo "$@" > "$0.call"')
    answers(monkeypatch, (programs / "systemctl.call").exists)
    assert engine.start_engine() is None
    assert Path(f"{programs}/systemctl.call").read_text() == "start docker\n"


def test_systemds_failure_points_at_its_journal(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SYSTEMD_RUNS", tmp_path)
    monkeypatch.setattr(engine, "START_LIMIT_S", 0.05)
    script(programs / "systemctl", "exit 1")
    answers(monkeypatch, lambda: False)
    with pytest.raises(EngineError) as caught:
        engine.start_engine()
    assert caught.value.next_step == "journalctl --unit docker"


def test_the_engines_log_lies_in_the_cache_where_the_system_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert engine._log_file() == tmp_path / "krucible" / "dockerd.log"
    monkeypatch.setattr(os, "access", lambda *_: True)
    assert engine._log_file() == Path("/var/log/krucible-dockerd.log")


def test_an_engine_reports_what_it_is() -> None:
    class Client:
        def __init__(self, answer: dict[str, object] | None) -> None:
            self.answer = answer

        def info(self) -> dict[str, object]:
            if self.answer is None:
                raise DockerException("gone")
            return self.answer

    answer = {
        "ServerVersion": "20.10.24",
        "Driver": "overlay2",
        "DockerRootDir": "/var/lib/docker",
        "KernelVersion": "6.1",
        "OperatingSystem": "Debian",
        "NCPU": 2,
        "MemTotal": 1 << 30,
    }
    facts = engine.engine_facts(Client(answer))  # type: ignore[arg-type]
    assert (facts.version, facts.cgroup_version, facts.memory_bytes) == ("20.10.24", "1", 1 << 30)
    with pytest.raises(EngineError):
        engine.engine_facts(Client(None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [RequestsConnectionError("hung up"), DockerException("refused"), ProtocolError("cut off in a stream")],
)
def test_an_engine_that_dies_in_the_middle_is_reported_as_such(error: Exception) -> None:
    @disk_errors_named()
    @engine_errors_named()
    def work() -> None:
        raise error

    with pytest.raises(EngineError, match="refused, or stopped answering") as raised:
        work()
    assert raised.value.got == str(error)
    assert "krucible heal" in raised.value.next_step


def test_an_engine_that_locked_up_is_reported_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()
        client = docker.DockerClient(f"unix://{path}", version="1.41", timeout=1)
        with closing(client), pytest.raises(EngineError, match="no longer answers") as raised:
            _ping(client)
    assert "restart the engine if docker run hangs as well, then krucible heal" in str(raised.value)


@engine_errors_named()
def _ping(client: docker.DockerClient) -> None:
    client.ping()
