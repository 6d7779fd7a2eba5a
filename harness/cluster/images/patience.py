"""Reads what the engine says of a pull or a build, and gives up when nothing goes on any more.

The engine sets no limit to either.  A registry that accepts a connection and then is silent holds a pull
up for good.  So events are read in a thread of their own, which is left to itself when the wait is over.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Event = Mapping[str, Any]
Clock = Callable[[], float]
"""Tells a time in seconds."""

SILENCE_MAX_S = 600
"""So long a pull or a build may go on without news; a slow disk takes minutes for a large layer."""


class SilenceError(Exception):
    """There was no news for too long.

    Attributes:
        limit_s: for how long, in seconds.
    """

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"nothing new was heard for {limit_s:g} s")
        self.limit_s = limit_s


class News:
    """Tells events that say something new of a layer from those that repeat what was said.

    Each byte more that is downloaded or extracted is news, each line of a build, too.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[object, object]] = {}

    def is_new(self, event: Event) -> bool:
        """Whether an event says something else of its layer than the last one did."""
        if "id" not in event:
            return True
        current = (event.get("progressDetail") or {}).get("current")
        said = event.get("status"), current
        new = self._last.get(str(event["id"])) != said
        self._last[str(event["id"])] = said
        return new


def until_silent(
    ask: Callable[[], Iterable[Event]],
    heard: Callable[[], object] = lambda: None,
    limit_s: float | None = None,
    now: Clock = time.monotonic,
) -> Iterator[Event]:
    """What the engine says, as long as it says something new.

    Args:
        ask: asks the engine; may wait for it, as each next event may.
        heard: is called at each event that is news.
        limit_s: how long there may be no news, in seconds; `SILENCE_MAX_S` unless given.
        now: the time in seconds, of a clock that is never set.

    Raises:
        SilenceError: there was no news for `limit_s`.
        Exception: whatever `ask` or reading raises.
    """
    limit_s = SILENCE_MAX_S if limit_s is None else limit_s
    said: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(ask, said), name="image events", daemon=True).start()
    news, last_s = News(), now()
    while True:
        try:
            event = said.get(timeout=max(0.0, last_s + limit_s - now()))
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
    ask: Callable[[], Iterable[Event]], said: "queue.SimpleQueue[Event | BaseException | None]"
) -> None:
    try:
        for event in ask():
            said.put(event)
    except BaseException as error:  # noqa: BLE001 - it is raised anew where the events are wanted
        said.put(error)
    else:
        said.put(None)
