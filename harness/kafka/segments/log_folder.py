"""One partition's log on one disk: its segments in order, its start, and its topic."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.history.replicas import COLUMN_TYPES
from harness.kafka.segments.batches import REASONS, Damage, Segment, Tail, read_segment
from harness.kafka.segments.compiled import SearchEnd

START_CHECKPOINT = "log-start-offset-checkpoint"
"""File next to the partitions' folders, with log starts that are not the start of a segment."""
_PAPERS = "partition.metadata"
_LISTINGS_MAX = 5
"""Maximum number of listings of a folder whose segments are deleted or replaced after they were listed."""
_PAUSE_S = 0.02


class FolderDamage(NamedTuple):
    """A place in one of the log's files without a valid batch."""

    file: str
    damage: Damage


class LogRead(NamedTuple):
    """A log on disk.

    Attributes:
        topic_id: topic id in the folder's ``partition.metadata``; None if it has none.
        start: first offset that the node serves.
        end: offset after the last complete batch.
        files: names of the segments, in order.
        size: size of all segments, bytes.
        columns: arrays by the names of `COLUMN_TYPES`, shape (batches,), of all segments together.
        damage: places without a valid batch.
        tail: file and place of the bytes after the last complete batch of the last segment.
        active: base offset of the last segment, which the cleaner does not change.
        left: offsets of the remaining records in batches that lost some, of all segments; None if unknown.
    """

    topic_id: str | None
    start: int
    end: int
    files: tuple[str, ...]
    size: int
    columns: dict[str, NDArray[np.integer]]
    damage: tuple[FolderDamage, ...]
    tail: tuple[str, Tail] | None
    active: int
    left: NDArray[np.integer] | None


def read_log(folder: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> LogRead:
    """Read the log in a partition's folder; the node may be running.

    Raises:
        OSError: it does not exist, has no segment, or can't be read.
    """
    for left in reversed(range(_LISTINGS_MAX)):
        start = _checkpointed_start(folder)
        try:
            files = _segments(folder, swapping=not left)
            segments = [read_segment(read(path)) for path in files]
        except FileNotFoundError as error:
            last = error
            time.sleep(_PAUSE_S)
        else:
            return _log(folder, files, segments, start)
    raise last


def _segments(folder: Path, *, swapping: bool) -> list[Path]:
    """The segments of a folder; segments that are being created or deleted have another suffix.

    The cleaner first renames the old segments, and then their replacement, from ``.swap``.  In between, the
    log lacks both.  If the node dies at that time, the log stays in this state.

    Args:
        folder: the partition's folder.
        swapping: whether to read a folder in this state nevertheless.

    Raises:
        OSError: it does not exist, or has no segment, or segments are being replaced.
    """
    files = [*folder.iterdir()]
    if not swapping and any(path.name.endswith(".log.swap") for path in files):
        raise FileNotFoundError(f"segments are being replaced in {folder.name}")
    found = sorted(path for path in files if path.suffix == ".log" and path.stem.isdigit())
    if not found:
        raise FileNotFoundError(f"no segment in {folder.name}")
    return found


def _log(folder: Path, files: list[Path], read: list[Segment], start: int) -> LogRead:
    """The log from its segments; `start` is the checkpoint's value from before they were listed.

    A node that deletes the first segments removes the start from the checkpoint, because then it is the first
    segment's name.
    """
    segments = [*map(_whole, read[:-1]), read[-1]]
    columns = {name: np.concatenate([s.columns[name] for s in segments]) for name in COLUMN_TYPES}
    first = int(files[0].stem)
    last_offsets = columns["last_offset"]
    tail = segments[-1].tail
    left = [segment.left for segment in segments if segment.left is not None]
    return LogRead(
        topic_id=topic_id_of(folder),
        start=max(first, start, _checkpointed_start(folder)),
        end=int(last_offsets[-1]) + 1 if len(last_offsets) else int(files[-1].stem),
        files=tuple(path.name for path in files),
        size=sum(segment.size for segment in segments),
        columns=columns,
        damage=tuple(
            FolderDamage(path.name, damage)
            for path, segment in zip(files, segments, strict=True)
            for damage in segment.damage
        ),
        tail=None if tail is None else (files[-1].name, tail),
        active=int(files[-1].stem),
        left=None if len(left) < len(segments) else np.concatenate(left),
    )


def _whole(segment: Segment) -> Segment:
    """A segment before the last one; an incomplete batch at its end is damage."""
    if segment.tail is None:
        return segment
    damage = Damage(segment.tail.position, None, REASONS[SearchEnd.CUT])
    return segment._replace(damage=(*segment.damage, damage), tail=None)


def topic_id_of(folder: Path) -> str | None:
    """The id of a folder's topic, None without ``partition.metadata``; the metadata log's id is fixed.

    Raises:
        OSError: the file can't be read.
    """
    try:
        lines = (folder / _PAPERS).read_text().splitlines()
    except FileNotFoundError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("topic_id:")), None)


def _checkpointed_start(folder: Path) -> int:
    """The log's start in the disk's checkpoint (lines ``topic partition offset``); 0 if it has none."""
    try:
        lines = (folder.parent / START_CHECKPOINT).read_text().splitlines()
    except FileNotFoundError:
        return 0
    topic, _, partition = folder.name.rpartition("-")
    starts = [int(line.split()[2]) for line in lines if line.split()[:2] == [topic, partition]]
    return max(starts, default=0)
