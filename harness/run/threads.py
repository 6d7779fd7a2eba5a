"""Runs a function in a separate thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_thread(action: Callable[[], T], name: str) -> Future[T]:
    """Start an action in a thread; the future has its result or error.

    The thread is a daemon: a second interrupt does not wait for it.
    """
    future: Future[T] = Future()

    def act() -> None:
        try:
            future.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=act, name=name, daemon=True).start()
    return future


def already_done() -> Future[None]:
    """A future that is already done, without a result."""
    future: Future[None] = Future()
    future.set_result(None)
    return future
