"""Reads a replica's log while its broker writes it."""

import errno
import os
import re
import struct
from contextlib import suppress
from pathlib import Path

from harness.kafka.segments.compiled import HEADER_BYTES

SEGMENT = re.compile(r"(\d{20})\.log")
_HEADER = struct.Struct(">qiib4sHi")
"""Base offset, length, leader epoch, format version, checksum, attributes, last offset delta."""
_LENGTH_COUNTS_FROM = 12
_MAGIC = 2


class LogEnd:
    """The end of one replica's log; each call continues where the last one ended.

    Args:
        folder: the replica's folder; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment = ""
        self._file = 0
        self._position = 0
        self._end = 0
        self._last = (0, b"")

    def read(self) -> int | None:
        """The offset after the last complete batch; None if no segment can be read now.

        Raises:
            OSError: a segment exists, but can't be read.
        """
        segments = segments_in(self._folder)
        try:
            return self._read(max(segments)) if segments else None
        except FileNotFoundError:
            return None  # rolled, truncated or deleted since the folder was read
        except OSError as error:
            if error.errno == errno.EIO:  # a disk without power
                return None
            raise

    def _read(self, segment: str) -> int:
        descriptor = os.open(self._folder / segment, os.O_RDONLY)
        try:
            status = os.fstat(descriptor)
            if (segment, status.st_ino) != (self._segment, self._file) or not stands(descriptor, self._last):
                self._begin(segment, status.st_ino)
            self._go_on(descriptor, status.st_size)
        finally:
            os.close(descriptor)
        return self._end

    def _begin(self, segment: str, file: int) -> None:
        self._segment, self._file, self._position = segment, file, 0
        self._end = int(segment.partition(".")[0])
        self._last = (0, b"")

    def _go_on(self, descriptor: int, size: int) -> None:
        """Read complete batches up to the size, or up to bytes that are no batch."""
        while self._position + HEADER_BYTES <= size:
            header = os.pread(descriptor, _HEADER.size, self._position)
            if len(header) < _HEADER.size:
                break  # truncated meanwhile
            base, length, _, magic, _, _, last = _HEADER.unpack(header)
            following = self._position + _LENGTH_COUNTS_FROM + length
            if magic != _MAGIC or base < self._end or length < HEADER_BYTES - _LENGTH_COUNTS_FROM or last < 0:
                break
            if following > size:
                break
            self._last = (self._position, header)
            self._position, self._end = following, base + last + 1


def stands(descriptor: int, last: tuple[int, bytes]) -> bool:
    """Whether the last batch that was read still exists; the log may have been truncated since.

    Args:
        descriptor: the open file of the segment.
        last: where the batch was read, and the first bytes of it.
    """
    position, header = last
    return os.pread(descriptor, len(header), position) == header


def segments_in(folder: Path) -> list[str]:
    """Names of the segments in a replica's folder, unordered; none if it can't be read now.

    Raises:
        OSError: it can't be read for another reason.
    """
    return [name for name in names_in(folder) if name.endswith(".log") and SEGMENT.fullmatch(name)]


def names_in(folder: Path) -> list[str]:
    """Names in a folder; empty if it does not exist, or if its disk has no power.

    Raises:
        OSError: it can't be read for another reason.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        try:
            return os.listdir(folder)  # noqa: PTH208 - a Path for each entry takes four times as long
        except OSError as error:
            if error.errno != errno.EIO:
                raise
    return []
