"""Opens a history in any of the known notations and yields its elements, one at a time.

The notation is detected from the beginning of the text, and compression from the file's first two bytes.
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from checkers.foreign.edn import read_elements
from checkers.foreign.jepsen_log import OPERATION, read_log
from checkers.foreign.json_text import read_array, read_lines
from checkers.foreign.text_pieces import Element, Pieces
from checkers.history.reading import HistoryError

_PIECE_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = "\ufeff"
_JSON_ARRAY = re.compile(r"\s*\[\s*(?:\{\s*[\"}]|\]\s*\Z)")
_JSON_LINES = re.compile(r"\s*\{\s*\"")
_EDN = re.compile(r"[\s,]*[\[({;#]")


class Notation(StrEnum):
    """The notation of a history."""

    EDN = "EDN"
    JSON_LINES = "JSON Lines"
    JSON_ARRAY = "a JSON array"
    LOG = "a Jepsen log"


class OpenHistory(NamedTuple):
    """A history that is ready to be read.

    Attributes:
        notation: the notation of the history.
        elements: its operations as they were written, one at a time.
        damage: parts that were cut off; complete when all elements were read.
    """

    notation: Notation
    elements: Iterator[Element]
    damage: list[str]


def open_source(stream: io.BufferedReader, file: str) -> OpenHistory:
    """Open a history, gzip-compressed or not.

    Args:
        stream: the source; need not be seekable.
        file: its name, for messages.

    Raises:
        HistoryError: now, or while elements are read: it is empty, not UTF-8, cut short, or not well-formed.
    """
    pieces = _decoded(_unpacked(stream, file), file)
    first = next(pieces, "")
    notation = _notation(first)
    if not first.strip():
        raise HistoryError(
            "the file is empty",
            expected="a history in EDN, JSON or Jepsen's log form",
            place=file,
            next_step="give a file that has a recorded history",
        )
    damage: list[str] = []
    rest = chain([first], pieces)
    match notation:
        case Notation.EDN:
            elements = read_elements(rest, file)
        case Notation.JSON_ARRAY:
            elements = read_array(Pieces(rest, file))
        case Notation.JSON_LINES:
            elements = read_lines(Pieces(rest, file), damage)
        case _:
            elements = read_log(Pieces(rest, file), damage)
    return OpenHistory(notation, elements, damage)


def _notation(first: str) -> Notation:
    if OPERATION.search(first):
        return Notation.LOG
    if _JSON_ARRAY.match(first):
        return Notation.JSON_ARRAY
    if _JSON_LINES.match(first):
        return Notation.JSON_LINES
    return Notation.EDN if _EDN.match(first) else Notation.LOG


def _unpacked(stream: io.BufferedReader, file: str) -> Iterator[bytes]:
    if stream.peek(len(_GZIP))[: len(_GZIP)] != _GZIP:
        yield from iter(lambda: stream.read(_PIECE_BYTES), b"")
        return
    try:
        with gzip.GzipFile(fileobj=stream) as unpacked:
            yield from iter(lambda: unpacked.read(_PIECE_BYTES), b"")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise HistoryError(
            f"the compressed file is cut short or damaged ({error})",
            expected="a whole gzip file",
            place=file,
            next_step="copy the file again from its source",
        ) from None


def _decoded(pieces: Iterator[bytes], file: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    for number, piece in enumerate(chain(pieces, [b""])):
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise HistoryError(
                f"not UTF-8 ({error.reason})",
                expected="a history as text in UTF-8, compressed with gzip or not",
                place=f"{file}, line {line}",
                next_step="name a file with a recorded history, or convert this one to UTF-8",
            ) from None
        line += text.count("\n")
        yield text if number else text.removeprefix(_BYTE_ORDER_MARK)
