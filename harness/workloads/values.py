"""Values that are unique in a run, and the bytes that carry them."""

import re

WORKER_STRIDE = 1_000_000_000
FOREIGN_CHARS_MAX = 200


class Values:
    """The values of one worker: ``worker x 10^9 + sequence``, sequence from 1."""

    def __init__(self, worker: int) -> None:
        self._next = worker * WORKER_STRIDE

    def draw(self) -> int:
        """The next value."""
        return self.draw_many(1)

    def draw_many(self, count: int) -> int:
        """The first of the next ``count`` values; they are consecutive."""
        first = self._next + 1
        self._next += count
        return first


class ValueCodec:
    """Values to record bytes and back, for one run.

    Attributes:
        prefix: what every record of the run begins with.
    """

    def __init__(self, run: str) -> None:
        self.prefix = f"{run}:".encode()
        self._own = re.compile(re.escape(self.prefix) + rb"([1-9][0-9]{0,17}|0)")

    def encode(self, value: int) -> bytes:
        """The record's bytes."""
        return self.prefix + str(value).encode()

    def decode(self, record: bytes | None) -> int | str:
        """The value; a text of what it is instead, where this run did not write it."""
        if record is None:
            return "(null)"
        own = self._own.fullmatch(record)
        if own is not None:
            return int(own[1])
        return record.decode("latin-1").encode("unicode_escape").decode()[:FOREIGN_CHARS_MAX]
