"""Reads a replica's log of ``__consumer_offsets`` while its broker writes it."""

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.history.observed import (
    CommitsSeen,
    CommitsStretch,
    CommitWritten,
    GroupWritten,
    OffsetDeleted,
    Transacted,
)
from harness.kafka.segments.compiled import HEADER_BYTES
from harness.kafka.segments.growing import segments_in, stands
from harness.kafka.segments.offset_commits import CommitBatch, read_commits

READ_BYTES_MAX = 2**23
"""Number of bytes of a file that are read at once."""
_NOTHING_BEFORE = -1


class Placed(NamedTuple):
    """A batch, and the leader epoch of the batch before it in the log.

    Attributes:
        batch: the batch.
        before: leader epoch; -1 if the batch is the log's first, at offset 0; None if unknown.
    """

    batch: CommitBatch
    before: int | None


def commits_seen(began_ns: int, new: Iterable[tuple[int, Sequence[Placed]]]) -> CommitsSeen:
    """The new commits, and records of groups, in the format of docs/histories.md.

    Args:
        began_ns: time when reading began.
        new: numbers of partitions, each with its batches in the order of the log.
    """
    stretches: list[CommitsStretch] = []
    removals: list[OffsetDeleted] = []
    transactional: list[Transacted] = []
    groups: list[GroupWritten] = []
    for partition, placed in new:
        stretches += joined(partition, placed)
        for batch, _ in placed:
            place = (partition, batch.leader_epoch)
            removals += [(*place, *deleted) for deleted in batch.deleted]
            for offset, (what, group, member, epoch, held) in batch.groups:
                groups.append(GroupWritten(*place, offset, what, group, member, epoch, list(held)))
            if batch.producer is not None:
                transactional.append((*place, batch.first, batch.producer, batch.ends or "data", batch.rows))
    return CommitsSeen(began_ns, stretches, removals, transactional, groups)


def joined(partition: int, placed: Iterable[Placed]) -> list[CommitsStretch]:
    """Merge consecutive batches into ranges."""
    found: list[tuple[CommitBatch, int | None]] = []
    for written, before in placed:
        batch = written if written.producer is None else written._replace(rows=[])
        last = found[-1][0] if found else None
        if (
            last is not None
            and (last.leader_epoch, last.end) == (batch.leader_epoch, batch.first)
            and last.rows is not None
            and batch.rows is not None
        ):
            rows: list[CommitWritten] = [*last.rows, *batch.rows]
            found[-1] = (last._replace(end=batch.end, rows=rows), found[-1][1])
        else:
            found.append((batch, before))
    return [
        (partition, batch.leader_epoch, batch.first, batch.end, before, batch.rows) for batch, before in found
    ]


class CommitsLog:
    """One replica's log; each call continues where the last one ended, through every segment.

    Args:
        folder: the replica's folder; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment = ""
        self._file = 0
        self._position = 0
        self._last = (0, b"")
        self._end: int | None = None
        self._epoch = _NOTHING_BEFORE

    def read(self) -> list[Placed]:
        """Complete batches that were not read yet; after a truncation, all that exist.

        Raises:
            OSError: a segment exists, but can't be read.
        """
        found: list[Placed] = []
        try:
            self._read(sorted(segments_in(self._folder)), found)
        except FileNotFoundError:
            self._segment = ""  # cleaned, truncated or deleted since the folder was read
        except OSError as error:
            if error.errno != errno.EIO:  # a disk without power
                raise
        return found

    def _read(self, segments: Sequence[str], found: list[Placed]) -> None:
        if self._segment not in segments:
            self._begin_anew()
        for segment in segments:
            if segment >= self._segment:
                self._read_segment(segment, found)

    def _begin_anew(self) -> None:
        self._segment, self._position, self._end = "", 0, None
        self._last = (0, b"")

    def _read_segment(self, segment: str, found: list[Placed]) -> None:
        descriptor = os.open(self._folder / segment, os.O_RDONLY)
        try:
            file = os.fstat(descriptor).st_ino
            if segment != self._segment:
                self._segment, self._file, self._position, self._last = segment, file, 0, (0, b"")
            elif file != self._file or not stands(descriptor, self._last):
                self._file, self._position, self._last, self._end = file, 0, (0, b""), None
            while self._go_on(descriptor, found):
                pass
        finally:
            os.close(descriptor)

    def _go_on(self, descriptor: int, found: list[Placed]) -> bool:
        """Read up to `READ_BYTES_MAX` bytes; returns whether there may be more."""
        data = os.pread(descriptor, READ_BYTES_MAX, self._position)
        part = read_commits(data)
        for batch in part.batches:
            found.append(Placed(batch, self._before(batch)))
            self._end, self._epoch = batch.end, batch.leader_epoch
        if part.batches:
            self._last = (self._position + part.last, data[part.last : part.last + HEADER_BYTES])
        self._position += part.size
        return bool(part.batches) and len(data) == READ_BYTES_MAX

    def _before(self, batch: CommitBatch) -> int | None:
        if not batch.first:
            return _NOTHING_BEFORE
        return self._epoch if self._end == batch.first else None
