"""Prints failures while the tests run, because a whole run takes long and may be stopped from outside.

The last lines of a failure are printed at once, and so is the end of each group that takes long.
SIGTERM ends the tests as Ctrl-C does: the summary then lists the failures so far.
"""

import signal
import time
from collections import Counter
from collections.abc import Sequence
from types import FrameType

import pytest

from tests.sharing import BESIDE, TOGETHER, group_of

LINES = 40
"""Number of lines of a failure that are printed at once; the summary has all of them."""


class LiveFailures:
    """Writes to the terminal of the process that distributes the tests."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal
        self._began_s = time.monotonic()
        self._left: Counter[str] = Counter()

    def pytest_sessionstart(self) -> None:
        signal.signal(signal.SIGTERM, _interrupt)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._left = Counter(group_of(nodeid) for nodeid in ids)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._print(f"failed: {report.nodeid}", report.longreprtext.splitlines()[-LINES:])
        if report.when == "teardown":
            self._count(group_of(report.nodeid))

    def _count(self, group: str) -> None:
        self._left[group] -= 1
        if group in (*TOGETHER, *BESIDE) and self._left[group] == 0:
            self._print(f"ended: {group}")

    def _print(self, what: str, lines: Sequence[str] = ()) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        self._terminal.write_line(f"\n{minutes}:{seconds:02} {what}")
        for line in lines:
            self._terminal.write_line(f"    {line}")
        self._terminal.flush()


def _interrupt(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
