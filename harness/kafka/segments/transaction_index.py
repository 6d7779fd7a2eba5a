"""Indexes of aborted transactions: one file ``<base offset>.txnindex`` for each segment (KIP-98).

An entry has 34 bytes: version (2), then producer id, first offset, last offset and last stable offset (8
each).  It is an ``AbortedTxn`` of Kafka's ``TransactionIndex``, which since 4.4 is a generated message of the
same format.  A broker appends an entry with one write, after the marker that aborts the transaction.  It
creates the file with the first entry, so most segments have none.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from checkers.history.replicas import AbortedTransaction, SegmentIndex

SUFFIX = ".txnindex"
ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("stable_offset", ">i8"),
    ]
)
"""An entry on disk; its only version is 0."""
_FIELDS = AbortedTransaction._fields
_OFFSET_MAX = 2**62


def read_indexes(folder: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> list[SegmentIndex]:
    """Read the indexes of all segments in a partition's folder; the node may be running.

    Segments that are deleted meanwhile are left out, because their index may have been deleted first.

    Raises:
        OSError: the folder does not exist, or a file can't be read.
    """
    found = {
        base: decode_index(_content(folder / f"{base:020}{SUFFIX}", read), base) for base in _bases(folder)
    }
    kept = _bases(folder)
    return [index for base, index in sorted(found.items()) if base in kept]


def decode_index(data: bytes, segment: int) -> SegmentIndex:
    """Read the entries up to the end, or up to bytes that are no entry; never fails, whatever the bytes are.

    Args:
        data: content of the file.
        segment: base offset of its segment, below which none of its transactions ended.
    """
    whole = len(data) // ENTRY.itemsize
    rows = np.frombuffer(data, dtype=ENTRY, count=whole)
    first, last = rows["first_offset"], rows["last_offset"]
    sound = (rows["version"] == 0) & (first < last) & (last >= segment)
    for name in _FIELDS:
        sound &= (rows[name] >= 0) & (rows[name] <= _OFFSET_MAX)
    number = int(np.argmin(sound)) if not sound.all() else whole
    entries = list(map(AbortedTransaction, *(rows[name][:number].tolist() for name in _FIELDS)))
    return SegmentIndex(segment, entries, _problem(data, number))


def _problem(data: bytes, number: int) -> str | None:
    """What follows this number of entries; None if nothing does."""
    rest = len(data) - number * ENTRY.itemsize
    return f"entry {number + 1} is incomplete or damaged (bytes from there on: {rest})" if rest else None


def _content(file: Path, read: Callable[[Path], bytes]) -> bytes:
    """The content of a file; nothing if it does not exist."""
    try:
        return read(file)
    except FileNotFoundError:
        return b""


def _bases(folder: Path) -> set[int]:
    """Base offsets of the segments in a folder."""
    return {int(path.stem) for path in folder.iterdir() if path.suffix == ".log" and path.stem.isdigit()}
