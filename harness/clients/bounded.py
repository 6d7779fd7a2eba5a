"""Calls a library with a time limit, because some calls might never return."""

import threading
from collections.abc import Callable

from harness.clients.interface import ClientFailedError
from harness.record.journal import describe


def within(timeout_s: float, what: str, call: Callable[[], object]) -> None:
    """Run `call` in a separate thread and wait for it.

    Raises:
        ClientFailedError: it raised, or had not returned after `timeout_s`; then its thread, a daemon, is
            abandoned.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            failures.append(error)

    thread = threading.Thread(target=run, name=f"bounded {what}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        raise ClientFailedError(f"{what} did not end within {timeout_s:.1f} s")
    if failures:
        # The list must not keep the error, whose traceback has the list: the client that the call used would
        # live until Python looks for cycles, and a producer of librdkafka that lives on sends requests.
        failure = failures.pop()
        raise ClientFailedError(f"{what}: {describe(failure)}") from failure
