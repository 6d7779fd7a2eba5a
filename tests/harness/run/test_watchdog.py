"""The watchdog ends what hangs and nothing else."""

import signal
import subprocess
import sys
import threading

import pytest

from harness.run.watchdog import watched

HANG = """
import ctypes
from harness.run import watchdog
from harness.run.watchdog import watched
watchdog._PARTS = {parts}
with watched({bound_s}):
    ctypes.PyDLL(None).usleep({hang_us})  # holds the interpreter's lock, as a careless library does
print("went on")
"""


def run(bound_s: float, hang_us: int, parts: float = 10) -> subprocess.CompletedProcess[str]:
    program = HANG.format(bound_s=bound_s, hang_us=hang_us, parts=parts)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_hang_ends_the_process_and_says_where() -> None:
    """It says so long before the end: if the machine stops for seconds, both are not due at once."""
    ended = run(3.0, 900_000_000, parts=10 / 9)
    assert ended.returncode == -signal.SIGALRM
    assert "Timeout" in ended.stderr
    assert "went on" not in ended.stdout


@pytest.mark.slow
def test_what_takes_longer_than_the_bound_goes_on_as_long_as_threads_run() -> None:
    program = (
        HANG.format(bound_s=6.0, hang_us=0, parts=10) + "import time\nwith watched(6.0): time.sleep(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_timers_are_off_where_the_thread_can_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", failing)
    with pytest.raises(RuntimeError, match="new thread"), watched(60.0):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_call_that_is_only_slow_does_not() -> None:
    ended = run(20.0, 300_000)
    assert (ended.returncode, ended.stdout) == (0, "went on\n")


def test_nothing_is_left_behind() -> None:
    before = threading.active_count()
    with watched(60.0):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert threading.active_count() <= before


def test_somebody_elses_alarm_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda _number: signal.SIG_IGN)
    with watched(60.0):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
