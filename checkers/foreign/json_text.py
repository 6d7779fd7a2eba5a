"""Reads operations in JSON: one object per line, or one array of objects."""

import json
import re
from collections.abc import Iterator

import msgspec

from checkers.foreign.text_pieces import (
    DEPTH_MAX,
    INTEGER_MAX,
    TOO_LONG,
    VALUE_CHARACTERS_MAX,
    Element,
    FilePlace,
    Pieces,
)

_SCANNER = json.JSONDecoder()
_OPENING = re.compile(r"\s*\[?\s*")
_BETWEEN = re.compile(r"[\s,]*")
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_LONG_NUMBER = re.compile(r"[0-9]{19}")


def read_lines(text: Pieces, damage: list[str]) -> Iterator[Element]:
    """Read one value per line; empty lines are ignored.

    Args:
        text: all lines.
        damage: receives an entry if the last line was cut short.

    Raises:
        HistoryError: a line is not JSON, too long, or nested too deep.
    """
    for begin, end in text.lines():
        line = text.window[begin:end]
        if not line.strip():
            continue
        place = text.place(begin)
        last = end == len(text.window)
        if last and not _is_json(line):
            damage.append(f"{place.file}, line {place.line}: cut short after {len(line)} characters, dropped")
            return
        yield Element(_decoded(line, place), place)


def read_array(text: Pieces) -> Iterator[Element]:
    """Read the objects of an array.

    Raises:
        HistoryError: it is not an array of objects, is cut short, or one of them is too long or nested too
            deep.
    """
    offset = _after(_OPENING, text, 0)
    while True:
        offset = _after(_BETWEEN, text, offset)
        if text.window[offset : offset + 1] in {"", "]"}:
            break
        begin, end = _object(text, offset)
        place = text.place(begin)
        yield Element(_decoded(text.window[begin:end], place), place)
        offset = end
    if offset == len(text.window):
        raise text.place(offset).error("the text ends before the array is closed", "a ]")
    rest = _after(_BETWEEN, text, offset + 1)
    if rest < len(text.window):
        raise text.place(rest).error("something follows the array's end", "nothing after the last bracket")


def _after(pattern: re.Pattern[str], text: Pieces, offset: int) -> int:
    """Offset after a pattern's match, which may continue in text that is not loaded yet."""
    found = pattern.match(text.window, offset)
    end = found.end() if found else offset
    while end == len(text.window) and not text.whole:
        text.move(end)
        found = pattern.match(text.window)
        end = found.end() if found else 0
    return end


def _object(text: Pieces, begin: int) -> tuple[int, int]:
    """Start and end of the value that begins at an offset."""
    while True:
        try:
            return begin, _SCANNER.raw_decode(text.window, begin)[1]
        except RecursionError:
            raise text.place(begin).error(
                f"nested deeper than {DEPTH_MAX}", "JSON of moderate depth"
            ) from None
        except ValueError as error:
            if text.whole:
                problem, _, _ = str(error).partition(": line ")
                raise text.place(getattr(error, "pos", begin)).error(problem, "JSON") from None
        text.check_size(begin)
        text.move(begin)
        begin = 0


def _is_json(line: str) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _decoded(line: str, place: FilePlace) -> object:
    """The value of a text.

    Raises:
        HistoryError: it is not JSON, or JSON that can't be judged.
    """
    if len(line) > VALUE_CHARACTERS_MAX:
        raise place.error(TOO_LONG, f"at most {VALUE_CHARACTERS_MAX:,} characters an operation")
    _check_depth(line, place)
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise _moved(place, line, str(error)).error(str(error), "JSON") from None
    if _LONG_NUMBER.search(line):
        _check_integers(value, line, place)
    return value


def _check_depth(line: str, place: FilePlace) -> None:
    if line.count("[") + line.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for mark in _MARK.finditer(line):
        depth += _STEPS.get(mark[0], 0)
        if depth > DEPTH_MAX:
            where = place._replace(column=place.column + mark.start())
            raise where.error(f"nested deeper than {DEPTH_MAX}", f"at most {DEPTH_MAX} deep")


def _check_integers(value: object, line: str, place: FilePlace) -> None:
    """Refuse integers that do not fit 64 bits."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif isinstance(item, int) and abs(item) > INTEGER_MAX:
            where = place._replace(column=place.column + max(line.find(str(item)), 0))
            raise where.error("a number that does not fit 64 bits", f"at most {INTEGER_MAX}")


def _moved(place: FilePlace, line: str, problem: str) -> FilePlace:
    """The place of the byte that a decoder's message names."""
    found = re.search(r"\(byte ([0-9]+)\)", problem)
    before = line.encode()[: int(found[1])].decode(errors="ignore") if found else line
    lines = before.count("\n")
    column = len(before) - before.rfind("\n") if lines else place.column + len(before)
    return FilePlace(place.file, place.line + lines, column)
