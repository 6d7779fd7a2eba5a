"""Ends the harness if its interpreter hangs, which no Python code could notice.

A client library that waits while it holds the interpreter's lock stops every thread: no time limit holds any
more, and no signal is handled.  librdkafka's `unassign` was seen to do so from within a rebalance.  The
operating system still measures the time.
"""

import faulthandler
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

BOUND_S = 120.0
"""No call that holds the lock takes a fraction of this."""
_PARTS = 10


@contextmanager
def watched(bound_s: float = BOUND_S) -> Iterator[None]:
    """From here to the end of the block, a hang of `bound_s` ends the process by SIGALRM (exit code 142).

    Shortly before that, what every thread does is written to stderr.  Faults, containers and the verdict are
    left to the parent (`harness.campaigns.apart`).  Nothing is watched where SIGALRM is in use already.
    """
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    ended = threading.Event()
    watch = threading.Thread(target=_put_off, args=(ended, bound_s), name="watchdog", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def _put_off(ended: threading.Event, bound_s: float) -> None:
    """Put the end off again and again, for as long as threads get their turn."""
    while not ended.is_set():
        signal.setitimer(signal.ITIMER_REAL, bound_s)
        if sys.__stderr__ is not None:
            faulthandler.dump_traceback_later(bound_s * (_PARTS - 1) / _PARTS, file=sys.__stderr__)
        ended.wait(bound_s / _PARTS)
