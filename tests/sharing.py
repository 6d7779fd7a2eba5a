"""How workers of pytest-xdist (`-n`) share the tests.

One worker begins with the tests that load clusters, because they take longest and mostly wait.  The other
workers run the tests that need no Docker meanwhile.  These make themselves nice, so that they do not slow a
cluster down.  Clusters are loaded one after the other until a worker has nothing else left.  It then joins
in, and is nice no longer: from then on two clusters are loaded at a time, never more.  Only tests in files of
`BESIDE` have another loaded cluster beside them.  The others stay together and come first; a worker that has
nothing else waits for their end.

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
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/cluster/", "tests/results/pipeline/")
"""Folders whose tests stay together, in the order in which they are begun; the first loads clusters."""
BESIDE = tuple(
    f"tests/cluster/test_{name}.py"
    for name in (
        "nightly",
        "minimise",
        "java_client",
        "upgrades",
        "groups",
        "known_outcomes",
        "blinks",
        "sensitivity",
        "topologies",
        "images",
        "replay",
        "metadata_logs",
    )
)
"""Files whose tests may have another loaded cluster beside them, in the order in which they are begun.

Long ones are first, so that no worker waits long for another one at the end.  None is here that ends
processes of the harness and looks for what is left, or that needs much done in little time.
"""
LOADED_AT_A_TIME = 2
"""How many clusters may be loaded at a time."""
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
    if file in BESIDE:
        return file
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def loads_clusters(group: str) -> bool:
    """Whether the tests of a group load clusters."""
    return group == TOGETHER[0] or group in BESIDE


def turn_of(item: pytest.Item) -> int:
    """The place of a test in the order in which tests begin."""
    file, order = item.nodeid.partition("::")[0], (*TOGETHER, *LONG)
    if file in SHARED_CLUSTER:
        return len(order)
    if file in BESIDE:
        return len(order) + 2 + BESIDE.index(file)
    return next((n for n, folder in enumerate(order) if file.startswith(folder)), len(order) + 1)


class Sharing(LoadScopeScheduling):  # type: ignore[misc]  # xdist publishes no types
    """Hands out groups of tests: of each kind in the order in which they were collected.

    A worker needs to know its next test before it runs one.  It gets another group when it has one test left,
    not before, so that no group waits behind a long test while another worker is free.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._waiting: dict[Any, None] = {}

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        for waiting in tuple(self._waiting):
            self._reschedule(waiting)

    def remove_node(self, node: Any) -> str | None:
        self._waiting.pop(node, None)
        work = self.assigned_work[node]
        # What has ended is not done again; a worker that got it would have no test, and stand still.
        for group in [group for group, ended in work.items() if all(ended.values())]:
            del work[group]
        crashed: str | None = super().remove_node(node)
        return crashed

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _reschedule(self, node: Any) -> None:
        while self._pending_of(self.assigned_work[node]) <= 1 and not node.shutting_down:
            super()._reschedule(node)
            if node in self._waiting:
                return

    def _assign_work_unit(self, node: Any) -> None:
        """Give a worker its next group, or let it wait for one, or let it end."""
        self._waiting.pop(node, None)
        group = self._next_of(node)
        if loads_clusters(group):
            others = [_loaded(work) for other, work in self.assigned_work.items() if other is not node]
            if any(TOGETHER[0] in loaded for loaded in others):
                self._waiting[node] = None
                return
            if sum(map(bool, others)) >= LOADED_AT_A_TIME:
                node.shutdown()
                return
        self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)

    def _next_of(self, node: Any) -> str:
        """Clusters for the worker that has begun with them, and for the others whatever else there is.

        Those that stay alone come first, in whatever order the tests are, and after a worker that crashed.
        """
        with_clusters = [one for one, work in self.assigned_work.items() if any(map(loads_clusters, work))]
        clusters = node in with_clusters or not with_clusters
        chosen: str = min(
            self.workqueue, key=lambda group: (loads_clusters(group) is not clusters, group != TOGETHER[0])
        )
        return chosen


def _loaded(work: dict[str, dict[str, bool]]) -> list[str]:
    """The groups of a worker that load clusters and have not ended."""
    return [group for group, ended in work.items() if loads_clusters(group) and not all(ended.values())]


class Niceness:
    """Makes a worker nice while it has tests that load no cluster."""

    def __init__(self) -> None:
        self._own, self._own_session = os.nice(0), niceness_of_session()
        self._nice = False
        self._watcher: subprocess.Popen[bytes] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        nice = not loads_clusters(group_of(item.nodeid))
        if nice is not self._nice:
            self._be(NICENESS if nice else 0)
            self._nice = nice

    def _be(self, nicer: int) -> None:
        """Make the process so much nicer than it was, and its session where sessions share processors.

        There a process's own niceness counts within its session alone.  Nodes of Kafka are in none, and all
        of them together would get no more than the session of the tests.
        """
        with suppress(PermissionError):  # to be less nice again; whoever is not root stays nice
            os.setpriority(os.PRIO_PROCESS, 0, self._own + nicer)
        if AUTOGROUP.exists():
            if self._watcher is None:
                os.setsid()
                self._watcher = _ending_with_us()
            _let_session_be(nicer or self._own_session)


def niceness_of_session() -> int:
    """Niceness of the session of this process.

    It is 0 where the kernel has no groups of sessions, and where no process up to init has begun a session:
    the file is empty then.
    """
    words = AUTOGROUP.read_text().split() if AUTOGROUP.exists() else []
    return int(words[-1]) if words else 0


def _let_session_be(niceness: int) -> None:
    """Set the niceness of this process's session.

    Of all users but root, the kernel takes ten such changes a second.
    """
    while True:
        with suppress(BlockingIOError):
            AUTOGROUP.write_text(str(niceness))
            return
        time.sleep(0.1)


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
