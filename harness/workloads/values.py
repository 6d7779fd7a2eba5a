"""Values that are unique in a run, and the bytes that carry them."""

import re
from collections.abc import Callable

WORKER_STRIDE = 1_000_000_000
FOREIGN_CHARS_MAX = 200


def _never(value: int) -> bool:
    del value
    return False


class Values:
    """The values of one worker: ``worker x 10^9 + sequence``, sequence from 1.

    Args:
        worker: the worker's number.
        is_skipped: function that returns whether a value is not used.
    """

    def __init__(self, worker: int, is_skipped: Callable[[int], bool] = _never) -> None:
        self._next = worker * WORKER_STRIDE
        self._is_skipped = is_skipped

    def draw(self) -> int:
        """The next value that is not skipped."""
        value = self.draw_many(1)
        while self._is_skipped(value):
            value = self.draw_many(1)
        return value

    def draw_many(self, count: int) -> int:
        """The first of the next ``count`` values; they are consecutive, and none is skipped."""
        first = self._next + 1
        self._next += count
        return first


class ValueCodec:
    """Values to record bytes and back, for one run.

    Attributes:
        prefix: the beginning of every record of the run.
    """

    def __init__(self, run: str) -> None:
        self.prefix = f"{run}:".encode()
        self._own = re.compile(re.escape(self.prefix) + rb"([1-9][0-9]{0,17}|0)")

    def encode(self, value: int) -> bytes:
        """The bytes of the record."""
        return self.prefix + str(value).encode()

    def decode(self, record: bytes | None) -> int | str:
        """The value; if this run did not write the record, a text that describes it."""
        if record is None:
            return "(null)"
        own = self._own.fullmatch(record)
        if own is not None:
            return int(own[1])
        return record.decode("latin-1").encode("unicode_escape").decode()[:FOREIGN_CHARS_MAX]
