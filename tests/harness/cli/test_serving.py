"""``krucible serve`` as a person starts and ends it."""

import os
import select
import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import invoke

ANSWER_S = 120


PROGRAM = """
import signal
from harness.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where these tests run in the background
main()
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "KRUCIBLE_RUNS"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_says_where_it_is_and_ends_quietly_on_ctrl_c(served: subprocess.Popen[str]) -> None:
    assert served.stdout is not None
    ready, _, _ = select.select([served.stdout], [], [], ANSWER_S)
    assert ready
    line = served.stdout.readline()
    assert line.startswith("runs of runs (not there yet) at ")
    url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
    with urllib.request.urlopen(url, timeout=ANSWER_S) as page:  # noqa: S310 - it begins with http
        assert b"There are no runs yet" in page.read()
    os.kill(served.pid, signal.SIGINT)
    out, err = served.communicate(timeout=ANSWER_S)
    assert (out.strip(), err, served.returncode) == ("", "", 0)


def test_a_taken_port_is_reported_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert invoke(["serve", "--port", str(port), "--runs", str(tmp_path)]) == 3
    stderr = capsys.readouterr().err
    assert "the port is taken" in stderr
    assert f"127.0.0.1:{port}" in stderr
    assert "krucible serve --port 0" in stderr


def test_it_is_opened_where_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("results.serve.server.Browser.serve_forever", interrupted)
    assert invoke(["serve", "--port", "0", "--open", "--runs", str(tmp_path)]) == 0
    assert opened == [word for word in capsys.readouterr().out.split() if word.startswith("http")]


def test_a_folder_that_was_named_and_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typo = str(tmp_path / "rusn")
    assert invoke(["serve", "--port", "0", "--runs", typo]) == 64
    stderr = capsys.readouterr().err
    assert "there is no such folder of runs" in stderr
    assert f"krucible run smoke/partition --runs {typo}" in stderr
    monkeypatch.setenv("KRUCIBLE_RUNS", typo)
    assert invoke(["serve", "--port", "0"]) == 64
    assert capsys.readouterr().err == stderr


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_is_a_port(port: str) -> None:
    assert invoke(["serve", "--port", port]) == 64


def test_there_is_no_other_address() -> None:
    assert invoke(["serve", "--host", "0.0.0.0"]) == 64  # noqa: S104 - that it is refused is the point
