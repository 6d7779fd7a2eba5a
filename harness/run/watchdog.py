"""Ends the harness if its interpreter hangs, which Python code can't detect.

A client library that waits while it holds the interpreter's lock stops every thread: no time limit works, and
no signal is handled.  librdkafka's `unassign` was seen to do this during a rebalance.  A timer of the
operating system still works.
"""

import faulthandler
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

BOUND_S = 120.0
"""Far more than any normal call that holds the lock takes."""
_PARTS = 10


@contextmanager
def watched(bound_s: float = BOUND_S) -> Iterator[None]:
    """Within the block, a hang of `bound_s` ends the process by SIGALRM (exit code 142).

    Shortly before that, the stacks of all threads are written to stderr.  The parent process handles faults,
    containers and the verdict (`harness.campaigns.apart`).  If SIGALRM is already in use, nothing is watched.
    """
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    ended = threading.Event()
    watch = threading.Thread(target=_put_off, args=(ended, bound_s), name="watchdog", daemon=True)
    try:
        _begin(bound_s)  # before the thread runs, which a hang at once would prevent
        watch.start()
        yield
    finally:
        ended.set()
        try:
            if watch.is_alive():
                watch.join()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()


def _put_off(ended: threading.Event, bound_s: float) -> None:
    """Restart the timers again and again, as long as threads can run."""
    while not ended.wait(bound_s / _PARTS):
        _begin(bound_s)


def _begin(bound_s: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, bound_s)
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(bound_s * (_PARTS - 1) / _PARTS, file=sys.__stderr__)
