"""Tests report a failure at once, the end of a group, and what failed until they were ended from outside."""

import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each starts sessions of pytest with workers
ROOT = Path(__file__).parent.parent
pytest_plugins = ["pytester"]
FAILS = """
def test_it():
    raise OSError("no such node")
"""
WAITS = """
import os

def test_a_failure():
    raise OSError("no such node")

def test_it_waits():
    os.mkfifo("waits")
    open("waits").read()
"""
BOUND_S = 120


def suite(pytester: pytest.Pytester, tests: dict[str, str]) -> None:
    """Write some test files, and those of ours that report what happens to them."""
    for name, text in tests.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("conftest.py", "sharing.py", "live_failures.py"):
        shutil.copy(ROOT / "tests" / name, pytester.path / "tests")


def test_a_failure_and_the_end_of_a_group_are_reported_at_once(pytester: pytest.Pytester) -> None:
    suite(pytester, {"tests/cluster/test_it.py": FAILS, "tests/a/test_it.py": "def test_it(): pass"})
    ran = pytester.runpytest_subprocess("tests", "-n", "2", "--import-mode=importlib")
    ran.assert_outcomes(passed=1, failed=1)
    output = "\n".join(ran.outlines).partition("= FAILURES =")[0]
    assert re.search(r"^\d+:\d\d failed: tests/cluster/test_it.py::test_it$", output, re.MULTILINE), output
    assert re.search(r"^ +E +OSError: no such node$", output, re.MULTILINE), output
    assert re.search(r"^\d+:\d\d ended: tests/cluster/$", output, re.MULTILINE), output


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_is_ended_from_outside_reports_what_failed(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    suite(pytester, {"tests/a/test_it.py": WAITS})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        *workers,
        "tests",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=pytester.path) as ran:
        bound = threading.Timer(BOUND_S, ran.kill)
        bound.start()
        assert ran.stdout is not None
        while "failed: " not in (line := ran.stdout.readline()):
            assert line, "it ended before it reported"
        ran.send_signal(signal.SIGTERM)
        out, _ = ran.communicate()
        bound.cancel()
    assert ran.returncode == pytest.ExitCode.INTERRUPTED, out
    assert "KeyboardInterrupt" in out
    assert "1 failed" in out.splitlines()[-1]
