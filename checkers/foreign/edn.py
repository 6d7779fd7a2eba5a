"""Reads EDN, Clojure's data notation, one element after the other.

Source: https://github.com/edn-format/edn.  A history is one vector or list of maps, or else every value of
the text.  Types that Python lacks are read as text: keywords (without their colon), symbols, characters,
ratios, exact decimals.  Vectors, lists and sets become lists (a set's in a fixed order), maps become dicts.
The tag of a tagged literal is ignored: ``#jepsen.history.Op{…}`` is a map, ``#inst "…"`` a text.

The parser keeps its own stack, so nesting costs no recursion, and one regular expression finds all tokens.
"""

import re
from collections.abc import Generator, Iterator
from math import isfinite
from typing import NamedTuple

from checkers.foreign.text_pieces import (
    DEPTH_MAX,
    INTEGER_MAX,
    TOO_LONG,
    VALUE_CHARACTERS_MAX,
    Element,
    FilePlace,
    Pieces,
    json_of,
)

_ATOM, _OPEN, _CLOSE, _STRING, _COMMENT, _DISCARD, _TAG, _CHARACTER, _OTHER = range(1, 10)
_STOP = r"\s,;\"()\[\]{}"
_TOKEN = re.compile(
    rf"""[\s,]*+(?:
      ([^{_STOP}\#\\][^{_STOP}]*+)
    | (\#?\{{|[\[(])
    | ([)\]}}])
    | ("[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (;[^\n]*+)
    | (\#_)
    | (\#[A-Za-z][^{_STOP}]*+)
    | (\\.[^{_STOP}]*+)
    | (.)
    | \Z
    )""",
    re.VERBOSE | re.DOTALL,
)
_CLOSER = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)N?", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_EXACT = re.compile(r"[+-]?[0-9]+(?:/[0-9]+|(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?M)", re.ASCII)
_KEYWORD = re.compile(r":[^:/][^/]*(?:/[^/]+)?|:/")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "b": "\b", "f": "\f", "\\": "\\", '"': '"'}
_CHARACTERS = {
    "newline": "\n",
    "return": "\r",
    "space": " ",
    "tab": "\t",
    "formfeed": "\f",
    "backspace": "\b",
}
_NAMES = frozenset({str, int})
_WORDS = {"nil": None, "true": True, "false": False}
_OTHERS = {'"': "a string that is not closed", "\\": "a character is missing after the backslash"}
_SURROGATES = range(0xD800, 0xE000)
_DIGITS_MAX = 20
_ATOMS_KEPT = 100_000
_SHOWN_MAX = 40


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    """A token that is not EDN; the message has the reason."""


class _Frame(NamedTuple):
    """An open collection: its items so far, its start, and the prefixes that wait for their value."""

    items: list[object]
    opener: str
    waiting: list[str]


def read_elements(pieces: Iterator[str], file: str) -> Iterator[Element]:
    """Read a history's elements: those of its single vector or list, or otherwise every value.

    Args:
        pieces: the text, in any pieces.
        file: name for messages.

    Raises:
        HistoryError: it is not EDN, or an element exceeds the limits of size or nesting.
    """
    return _Parser(Pieces(pieces, file), unwrap=True).elements()


def read_values(text: str, place: FilePlace, offset: int) -> list[object]:
    """Read all values of a part of a line.

    Args:
        text: the part.
        place: where the line begins.
        offset: offset of the part in the line.

    Raises:
        HistoryError: it is not EDN.
    """
    pieces = Pieces(iter([text]), place.file, place.line, place.column + offset)
    return [element.value for element in _Parser(pieces, unwrap=False).elements()]


class _Parser:
    """Parses a text in one pass."""

    def __init__(self, text: Pieces, *, unwrap: bool) -> None:
        self._text = text
        self._atoms = _Atoms()
        self._may_unwrap = unwrap
        self._ended = False
        self._level = 0
        self._frame = _Frame([], "", [])
        self._outer: list[_Frame] = []
        self._place = text.place(0)
        self._began = 0

    def elements(self) -> Iterator[Element]:
        """Every element of the text.

        Raises:
            HistoryError: see `read_elements`.
        """
        offset = yield from self._window()
        while not self._text.whole:
            if len(self._outer) == self._level:
                self._began = self._text.position(offset)
            self._check_size(len(self._text.window))
            self._text.move(offset)
            offset = yield from self._window()
        self._check_end()

    def _window(self) -> Generator[Element, None, int]:
        """Yield every element that ends in the window; return the offset from which more text is needed."""
        atoms, outer, whole, length = self._atoms, self._outer, self._text.whole, len(self._text.window)
        items, waiting, inside = self._frame.items, self._frame.waiting, len(outer) > self._level
        for match in _TOKEN.finditer(self._text.window):
            kind = match.lastindex
            if kind is None:
                continue
            if not whole and kind != _CLOSE and (match.end() == length or match[kind] == '"'):
                return match.start(kind)
            if not inside:
                self._begin(match.start(kind), kind)
            try:
                if kind == _ATOM and inside and not waiting:
                    items.append(atoms[match[_ATOM]])
                    continue
                self._take_token(kind, match[kind])
            except _Unreadable as trouble:
                raise self._text.place(match.start(kind)).error(str(trouble), "EDN") from None
            items, _, waiting = self._frame
            inside = len(outer) > self._level
            if not inside and items:
                self._check_size(match.end())
                self._may_unwrap = False
                yield Element(items.pop(), self._place)
        return length

    def _begin(self, offset: int, kind: int) -> None:
        """Store where an element begins."""
        self._place = self._text.place(offset)
        self._began = self._text.position(offset)
        if self._ended and kind != _COMMENT:
            raise self._place.error("something follows the history's end", "nothing after the last bracket")

    def _take(self, value: object) -> None:
        """Add a complete value to the open collection, unless the value must be discarded."""
        items, _, waiting = self._frame
        while waiting:
            if waiting.pop() == "#_":
                return
        items.append(value)

    def _take_token(self, kind: int, token: str) -> None:
        if kind == _OPEN:
            self._open(token)
        elif kind == _CLOSE:
            self._close(token)
        elif kind == _ATOM:
            self._take(self._atoms[token])
        elif kind == _STRING:
            self._take(_string(token))
        elif kind == _CHARACTER:
            self._take(_character(token[1:]))
        elif kind in {_DISCARD, _TAG}:
            if len(self._frame.waiting) >= DEPTH_MAX:
                raise _Unreadable(f"more than {DEPTH_MAX} tags before one value")
            self._frame.waiting.append(token)
        elif kind == _OTHER:
            raise _Unreadable(_OTHERS.get(token, f"{token!r} does not begin a value"))

    def _open(self, opener: str) -> None:
        if self._may_unwrap and not self._outer and opener in {"[", "("} and "#_" not in self._frame.waiting:
            self._level = 1
            self._frame.waiting.clear()
        if len(self._outer) - self._level >= DEPTH_MAX:
            raise _Unreadable(f"nested deeper than {DEPTH_MAX}")
        self._outer.append(self._frame)
        self._frame = _Frame([], opener, [])

    def _close(self, closer: str) -> None:
        items, opener, waiting = self._frame
        if _CLOSER.get(opener) != closer:
            raise _Unreadable(f"{closer} closes {opener or 'nothing'}")
        if waiting:
            raise _Unreadable(f"{waiting[-1]} is not followed by a value")
        self._frame = self._outer.pop()
        if len(self._outer) < self._level:
            self._level, self._ended = 0, True
        else:
            self._take(_collection(opener, items))

    def _check_size(self, offset: int) -> None:
        if self._text.position(offset) - self._began > VALUE_CHARACTERS_MAX:
            raise self._place.error(TOO_LONG, f"at most {VALUE_CHARACTERS_MAX:,} characters an operation")

    def _check_end(self) -> None:
        if self._outer:
            opener = self._frame.opener
            raise self._place.error(f"the text ends before {opener} is closed", f"a {_CLOSER[opener]}")
        if self._frame.waiting:
            raise self._place.error(f"{self._frame.waiting[-1]} is not followed by a value", "a value")


class _Atoms(dict[str, object]):
    """Values of atomic tokens, cached up to a limit."""

    def __missing__(self, token: str) -> object:
        value = _atom(token)
        if len(self) < _ATOMS_KEPT:
            self[token] = value
        return value


def _atom(token: str) -> object:
    if token in _WORDS:
        return _WORDS[token]
    if token[0] == ":":
        if not _KEYWORD.fullmatch(token):
            raise _Unreadable(f"{_shown(token)} is not a keyword")
        return token[1:]
    if not (token[0].isdigit() or (token[0] in "+-" and token[1:2].isdigit())):
        return token
    if _INTEGER.fullmatch(token):
        return _integer(token.removesuffix("N"))
    if _FLOAT.fullmatch(token):
        return _float(token)
    if _EXACT.fullmatch(token):
        return token
    raise _Unreadable(f"{_shown(token)} is not a number")


def _integer(token: str) -> int:
    value = int(token) if len(token) <= _DIGITS_MAX else INTEGER_MAX + 1
    if abs(value) > INTEGER_MAX:
        raise _Unreadable(f"the number {_shown(token)} does not fit 64 bits")
    return value


def _float(token: str) -> float:
    value = float(token)
    if not isfinite(value):
        raise _Unreadable(f"the number {_shown(token)} is too large")
    return value


def _string(token: str) -> str:
    text = token[1:-1]
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(found: re.Match[str]) -> str:
    if found[3] is not None:
        if found[3] not in _ESCAPES:
            raise _Unreadable(f"the escape \\{found[3]} means nothing")
        return _ESCAPES[found[3]]
    return _code_point(int(found[1], 16) if found[1] else int(found[2], 8))


def _code_point(code: int) -> str:
    # Java writes characters beyond 16 bits as two escapes; half of such a pair is no character.
    if code in _SURROGATES:
        raise _Unreadable(f"\\u{code:04x} is half a character")
    return chr(code)


def _character(name: str) -> str:
    if len(name) == 1:
        return name
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    if re.fullmatch(r"u[0-9A-Fa-f]{4}", name):
        return _code_point(int(name[1:], 16))
    raise _Unreadable(f"\\{_shown(name)} is not a character")


def _collection(opener: str, items: list[object]) -> object:
    if opener == "#{":
        return sorted(items, key=json_of)
    if opener != "{":
        return items
    if len(items) % 2:
        raise _Unreadable("a map has a key without a value")
    keys = items[::2]
    if not set(map(type, keys)) <= _NAMES:  # A key that is impossible in JSON is replaced by its text.
        keys = [key if type(key) in _NAMES else json_of(key) for key in keys]
    found = dict(zip(keys, items[1::2], strict=True))
    if len(found) * 2 != len(items):
        raise _Unreadable("a map has the same key twice")
    return found


def _shown(token: str) -> str:
    return token if len(token) <= _SHOWN_MAX else f"{token[:_SHOWN_MAX]}…"
