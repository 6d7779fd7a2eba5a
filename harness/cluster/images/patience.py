"""Reads Docker's events of a pull or a build, and gives up when there is no more progress.

Docker has no time limit for either.  A registry that accepts a connection and then sends nothing blocks a
pull forever.  So events are read in a separate thread, which is abandoned when the time is over.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Event = Mapping[str, Any]
Clock = Callable[[], float]
"""Returns a time in seconds."""

SILENCE_MAX_S = 600
"""Longest time of a pull or a build without progress; a slow disk takes minutes for a large layer."""


class SilenceError(Exception):
    """Docker reported no progress for too long.

    Attributes:
        limit_s: the time limit, seconds.
    """

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"no progress for {limit_s:g} s")
        self.limit_s = limit_s


class News:
    """Distinguishes events with progress of a layer from repeated ones.

    Every downloaded or extracted byte is progress, and so is every line of a build.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[object, object]] = {}

    def is_new(self, event: Event) -> bool:
        """Whether an event differs from the last one of its layer."""
        if "id" not in event:
            return True
        current = (event.get("progressDetail") or {}).get("current")
        state = event.get("status"), current
        new = self._last.get(str(event["id"])) != state
        self._last[str(event["id"])] = state
        return new


def until_silent(
    ask: Callable[[], Iterable[Event]],
    heard: Callable[[], object] = lambda: None,
    limit_s: float | None = None,
    now: Clock = time.monotonic,
) -> Iterator[Event]:
    """Docker's events, as long as there is progress.

    Args:
        ask: sends the request to Docker; it may block, and so may each next event.
        heard: called for each event with progress.
        limit_s: longest time without progress, seconds; `SILENCE_MAX_S` by default.
        now: returns the time in seconds, from a monotonic clock.

    Raises:
        SilenceError: there was no progress for `limit_s`.
        Exception: any error of `ask` or of reading.
    """
    limit_s = SILENCE_MAX_S if limit_s is None else limit_s
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(ask, events), name="image events", daemon=True).start()
    news, last_s = News(), now()
    while True:
        try:
            event = events.get(timeout=max(0.0, last_s + limit_s - now()))
        except queue.Empty:
            raise SilenceError(limit_s) from None
        if event is None:
            return
        if isinstance(event, BaseException):
            raise event
        if news.is_new(event):
            last_s = now()
            heard()
        elif now() - last_s > limit_s:
            raise SilenceError(limit_s)
        yield event


def _listen(
    ask: Callable[[], Iterable[Event]], events: "queue.SimpleQueue[Event | BaseException | None]"
) -> None:
    try:
        for event in ask():
            events.put(event)
    except BaseException as error:  # noqa: BLE001 - it is raised anew where the events are wanted
        events.put(error)
    else:
        events.put(None)
