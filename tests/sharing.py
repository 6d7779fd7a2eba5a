"""How workers of pytest-xdist (`-n`) share the tests.

Tests that load clusters stay together on one worker, which runs them one after the other: a machine is loaded
by one cluster at a time.  They begin first, because they take longest and mostly wait: the other workers run
the tests that need no Docker meanwhile.  These make themselves nice, so that they do not slow a cluster down.
Tests that only use one cluster without a load, which they share, stay together.  Whichever worker is free
runs them, beside those that load clusters, and before the many small files: what begins last is short, and no
worker waits long for another one.  Tests of the pipeline stay together as well,
because each worker would start a Spark of its own, and so do those of each other file, for what they build
once.  Mutations are the largest file: those of one recorded run stay together.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/cluster/", "tests/results/pipeline/")
"""Folders whose tests stay together, in the order in which they are begun."""
LONG = ("tests/mutations/", "tests/checkers/")
"""Folders that are begun next, so that no long file is the last one, for which others would wait."""
SHARED_CLUSTER = tuple(
    f"tests/cluster/test_{name}.py"
    for name in ("cut_off", "elections", "faults", "frozen_nodes", "reassignments", "two_clusters")
)
"""Files whose tests share a cluster, the fixture `three_nodes`; they are begun before the small files."""
SHARED = "tests on a shared cluster"
"""The group of these files, for pytest-xdist."""
_OF_A_RUN = re.compile(r"tests/mutations/.*\[.*-(?P<run>[a-z]+|\d)-\d+\]")
"""A mutation of a recorded run at one place, as its id ends; of a name with dashes it takes the last word."""
NICENESS = 10
AUTOGROUP = Path("/proc/self/autogroup")
"""Is there where the kernel shares processors between sessions first; see sched(7), the autogroup feature."""
_WATCHING = """
import os, select, signal, sys
select.select([int(sys.argv[1])], [], [])
os.killpg(0, signal.SIGKILL)
"""


def group_of(nodeid: str) -> str:
    """What one worker has the tests of: a folder, a file, or a recorded run that is mutated."""
    mutated = _OF_A_RUN.fullmatch(nodeid)
    if mutated is not None:
        return f"mutations of {mutated['run']}"
    file = nodeid.partition("::")[0]
    if file in SHARED_CLUSTER:
        return SHARED
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def turn_of(item: pytest.Item) -> int:
    """The place of a test in the order in which tests begin."""
    order = (*TOGETHER, *LONG)
    if item.nodeid.partition("::")[0] in SHARED_CLUSTER:
        return len(order)
    return next((n for n, folder in enumerate(order) if item.nodeid.startswith(folder)), len(order) + 1)


class Sharing(LoadScopeScheduling):  # type: ignore[misc]  # xdist publishes no types
    """Hands out groups of tests, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


class Niceness:
    """Makes a worker nice before its first test without a cluster."""

    def __init__(self) -> None:
        self._nice = False
        self._watcher: subprocess.Popen[bytes] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self._nice or group_of(item.nodeid) == TOGETHER[0]:
            return
        os.nice(NICENESS)
        if AUTOGROUP.exists():
            _leave_session()
            self._watcher = _ending_with_us()
        self._nice = True


def _leave_session() -> None:
    """Make a nice session of this process; only where sessions share processors.

    There a process's own niceness counts within its session alone.  Nodes of Kafka are in none, and all of
    them together would get no more than the session of the tests.
    """
    os.setsid()
    AUTOGROUP.write_text(str(NICENESS))


def _ending_with_us() -> "subprocess.Popen[bytes]":
    """Start what kills all that is left of our session as soon as this process has ended, however it did.

    Ctrl-C of a terminal reaches the terminal's own session alone.  Pytest then ends the worker, but not what
    its tests have started.
    """
    us = os.pidfd_open(os.getpid())
    try:
        return subprocess.Popen(
            [sys.executable, "-S", "-c", _WATCHING, str(us)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[us],
        )
    finally:
        os.close(us)
