"""Conditions that other threads and processes bring about, awaited for as long as a slow machine takes."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

BOUND_S = 60.0
"""Only a defect lasts longer; whoever waits for what must come says no bound of its own."""
T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], bound_s: float = BOUND_S) -> T:
    """Ask until the answer is true, and return it; asking takes half of the time at most.

    Raises:
        AssertionError: it never was.
    """
    deadline = time.monotonic() + bound_s
    while True:
        began = time.monotonic()
        if answer := condition():
            return answer
        now = time.monotonic()
        assert now < deadline, f"not within {bound_s:g} s"
        threading.Event().wait(max(0.005, now - began))


class StandingTime:
    """Takes the place of the module ``time`` where a test decides when a deadline has passed."""

    def __init__(self, now_s: float = 1_000_000.0) -> None:
        self._now_s = now_s

    def monotonic(self) -> float:
        return self._now_s

    def monotonic_ns(self) -> int:
        return int(self._now_s * 1e9)

    def go_on(self, by_s: float = BOUND_S) -> None:
        self._now_s += by_s


class Pauses(threading.Event):
    """Takes the place of an event whose waits are pauses: time goes on instead."""

    def __init__(self, standing: StandingTime) -> None:
        super().__init__()
        self._standing = standing

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self._standing.go_on(timeout)
        return self.is_set()
