"""What the tests tell while they run, for all of them take long and may be ended from outside.

A failure is shown at once with its last lines, and so is the end of each group that has a worker to itself.
SIGTERM ends the tests as Ctrl-C does: the summary tells what failed until then.
"""

import signal
import time
from collections import Counter
from collections.abc import Sequence
from types import FrameType

import pytest

from tests.sharing import TOGETHER, group_of

LINES = 40
"""How much of a failure is shown at once; the summary at the end has all of it."""


class Telling:
    """Writes to the terminal of the process that hands out the tests."""

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
            self._tell(f"failed: {report.nodeid}", report.longreprtext.splitlines()[-LINES:])
        if report.when == "teardown":
            self._count(group_of(report.nodeid))

    def _count(self, group: str) -> None:
        self._left[group] -= 1
        if group in TOGETHER and self._left[group] == 0:
            self._tell(f"ended: {group}")

    def _tell(self, what: str, lines: Sequence[str] = ()) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        self._terminal.write_line(f"\n{minutes}:{seconds:02} {what}")
        for line in lines:
            self._terminal.write_line(f"    {line}")
        self._terminal.flush()


def _interrupt(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
