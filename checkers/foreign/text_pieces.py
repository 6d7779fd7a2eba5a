"""Text that is read in pieces, with the line and column of every place in it.

A history may be larger than memory, so only the part that is not parsed yet is kept.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.history.reading import HistoryError

VALUE_CHARACTERS_MAX = 10_000_000
"""The largest size of an operation; Jepsen's have a few hundred characters, and a poll's a few thousand."""

TOO_LONG = f"a value of more than {VALUE_CHARACTERS_MAX:,} characters begins here"
"""The error for longer values."""

INTEGER_MAX = 2**63 - 1
"""Largest integer that is accepted, and its negative the smallest."""

DEPTH_MAX = 200
"""Deepest nesting that is accepted; a poll's records are nested six deep."""

_MEND = "restore the original file, or remove the damaged part and judge the rest"


def json_of(value: object) -> str:
    """A value as JSON, with one text for equal values; keys that JSON lacks become texts of JSON."""
    return msgspec.json.encode(_ordered(value)).decode()


def _ordered(value: object) -> object:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {key if isinstance(key, str) else json_of(key): _ordered(item) for key, item in value.items()}
    return {key: named[key] for key in sorted(named)}


class FilePlace(NamedTuple):
    """A place in a file; line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"

    def error(self, problem: str, expected: str, next_step: str = _MEND) -> HistoryError:
        """The error for a problem at this place."""
        return HistoryError(problem, expected=expected, place=str(self), next_step=next_step)


class Element(NamedTuple):
    """One element of a history, and its place."""

    value: object
    place: FilePlace


class Pieces:
    """A window on a text that only moves forward.

    Attributes:
        window: the part of the text in the window.
        whole: whether the window reaches the end of the text.
    """

    def __init__(self, pieces: Iterator[str], file: str, line: int = 1, column: int = 1) -> None:
        self._pieces = pieces
        self._file = file
        self._passed = 0
        self._counted = 0
        self._line = line
        self._line_began = 1 - column
        self.window = ""
        self.whole = False
        self.move(0)

    def move(self, offset: int) -> None:
        """Drop the text before an offset in the window, and read one piece more."""
        self._count(offset)
        self._passed += offset
        self._counted -= offset
        self._line_began -= offset
        rest = self.window[offset:]
        piece = next(self._pieces, None)
        self.whole = piece is None
        self.window = rest + (piece or "")

    def position(self, offset: int) -> int:
        """Number of characters of the whole text before an offset in the window."""
        return self._passed + offset

    def place(self, offset: int) -> FilePlace:
        """Line and column of an offset in the window.

        Offsets must not decrease from call to call.
        """
        self._count(offset)
        return FilePlace(self._file, self._line, offset - self._line_began + 1)

    def lines(self) -> Iterator[tuple[int, int]]:
        """Start and end of every line in the window, without its newline; the window moves automatically.

        Raises:
            HistoryError: a line exceeds the size limit.
        """
        begin = 0
        while True:
            end = self.window.find("\n", begin)
            if end >= 0:
                yield begin, end
                begin = end + 1
            elif self.whole:
                break
            else:
                self.check_size(begin)
                self.move(begin)
                begin = 0
        if begin < len(self.window):
            yield begin, len(self.window)

    def check_size(self, offset: int) -> None:
        """Refuse a value, beginning at an offset, that is too large.

        Raises:
            HistoryError: the part of it in the window exceeds the size limit.
        """
        if len(self.window) - offset > VALUE_CHARACTERS_MAX:
            raise self.place(offset).error(
                TOO_LONG, f"at most {VALUE_CHARACTERS_MAX:,} characters an operation"
            )

    def _count(self, offset: int) -> None:
        lines = self.window.count("\n", self._counted, offset)
        if lines:
            self._line += lines
            self._line_began = self.window.rindex("\n", self._counted, offset) + 1
        self._counted = offset
