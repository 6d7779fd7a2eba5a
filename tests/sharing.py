"""How workers of pytest-xdist (`-n`) share the tests.

Tests on clusters stay together on one worker, which has them one after the other: a machine is loaded by one
cluster at a time.  They are begun first, for they take longest, and most of that is waiting: the other
workers have the tests that need no Docker meanwhile.  These make themselves nice, lest a cluster be slower
than its time limits expect.  Tests of the pipeline stay together as well, because each worker would start a
Spark of its own, and so do those of each other file, for what they build once.  Mutations are the largest
file: of these stays together what is made of one recorded run.
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
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def turn_of(item: pytest.Item) -> tuple[int, bool]:
    """What comes earlier is less; the cluster that tests share is started late, for it stays to the end."""
    order = (*TOGETHER, *LONG)
    place = next((n for n, folder in enumerate(order) if item.nodeid.startswith(folder)), len(order))
    return place, "three_nodes" in getattr(item, "fixturenames", ())


class Sharing(LoadScopeScheduling):
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
