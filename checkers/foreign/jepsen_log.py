"""Reads operations from a Jepsen log: ``INFO  jepsen.util - PROCESS  :type  :f  value  error``.

The fields are separated by tabs or spaces.  Text before ``jepsen.util`` (times, threads) is ignored, and so
are all other lines.  Value and error are EDN.  An operation without an answer (``:info`` or ``:fail``) may
have the reason instead of its value.
"""

import re
from collections.abc import Iterator

from checkers.foreign.edn import read_values
from checkers.foreign.text_pieces import Element, FilePlace, Pieces
from checkers.history.reading import HistoryError

OPERATION = re.compile(
    r"^[^\n]*?\bjepsen\.util(?:[ \t]+-|:)[ \t]+([^\s:]\S*|:\S+)[ \t]+:(\S+)[ \t]+:(\S+)[ \t]*([^\n]*)$",
    re.MULTILINE,
)
"""A line of a log that reports an operation: its process, type, function, and the rest."""

_PARTS_MAX = 2
_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def read_log(text: Pieces, damage: list[str]) -> Iterator[Element]:
    """Read the operations of a log.

    Args:
        text: all lines.
        damage: receives an entry if the last line was cut short.

    Raises:
        HistoryError: a line is too long, or a value is not EDN.
    """
    for begin, end in text.lines():
        line = text.window[begin:end]
        place = text.place(begin)
        last = end == len(text.window)
        try:
            operation = _operation(line, place)
        except HistoryError:
            if not last:
                raise
            operation = None
        if operation is not None:
            yield Element(operation, place)
        elif last and "jepsen.util" in line:
            damage.append(f"{place.file}, line {place.line}: cut short after {len(line)} characters, dropped")


def _operation(line: str, place: FilePlace) -> dict[str, object] | None:
    """The operation that a line reports; None if it reports none."""
    found = OPERATION.match(line)
    if found is None:
        return None
    process = found[1].removeprefix(":")
    parts = read_values(found[4], place, found.start(4))
    if len(parts) > _PARTS_MAX:
        raise place.error("more than a value and an error at the end of the line", "at most two")
    value, error = [*parts, None, None][:_PARTS_MAX]
    who = int(process) if _NUMBER.fullmatch(process) else process
    return {"process": who, "type": found[2], "f": found[3], "value": value, "error": error}
