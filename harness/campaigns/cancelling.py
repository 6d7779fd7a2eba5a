"""Ctrl-C: the first one ends the run early, heals and judges; the second one exits at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

CANCELLING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def cancellable() -> Iterator[threading.Event]:
    """An event that the first SIGINT or SIGTERM sets: the run heals, cleans up and is judged unknown.

    A second signal raises KeyboardInterrupt at once; `krucible heal` then cleans up.
    """
    cancelled = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt
        cancelled.set()
        click.echo("interrupted: healing and cleaning up; press Ctrl-C again to stop at once", err=True)

    before = {number: signal.signal(number, on_signal) for number in CANCELLING}
    try:
        yield cancelled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
