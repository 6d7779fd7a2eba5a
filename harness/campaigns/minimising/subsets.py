"""Delta debugging: finds the pieces that are needed, by leaving out smaller and smaller parts.

A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on
Software Engineering 28 (2002), 183-200.  Only complements are tested, because each question costs runs.
"""

import itertools
from collections.abc import Generator
from typing import TypeVar

_Piece = TypeVar("_Piece")


def needed(pieces: tuple[_Piece, ...]) -> Generator[tuple[_Piece, ...], bool, tuple[_Piece, ...]]:
    """Pieces of which none can be left out, if the answers are consistent.

    Yields:
        Fewer pieces, in order; the caller sends back whether they are enough.
    """
    parts = 2
    while len(pieces) > 1:
        parts = min(parts, len(pieces))
        for begin, end in _chunks(len(pieces), parts):
            rest = pieces[:begin] + pieces[end:]
            if (yield rest):
                pieces, parts = rest, max(parts - 1, 2)
                break
        else:
            if parts == len(pieces):
                return pieces
            parts *= 2
    return pieces


def _chunks(length: int, parts: int) -> list[tuple[int, int]]:
    """Begin and end of each of several parts of nearly the same size."""
    bounds = [length * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(bounds))
