"""Reads how far a broker flushed the logs of a disk, according to its checkpoint, and where these logs end.

A broker writes a log's recovery point to ``recovery-point-offset-checkpoint`` once all records below it are
flushed.  It writes a new file, syncs it, and renames it (``CheckpointFile.write``).  So on a disk that lost
power, each log reaches at least its recovery point on the same disk.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from checkers.history.faults import LogFlushed
from harness.kafka.segments.growing import LogEnd
from harness.kafka.segments.log_folder import topic_id_of

CHECKPOINT = "recovery-point-offset-checkpoint"
"""File next to the partitions' folders: version, number of entries, lines ``topic partition offset``."""
_UNFINISHED = f"{CHECKPOINT}.tmp"
_PAPERS = "partition.metadata"
_VERSION = "0"


def flushed_logs(disk: Path) -> list[LogFlushed]:
    """The recovery points on a disk whose broker is not running, and the ends of their logs.

    A broker truncates or removes a log before it writes the checkpoint.  So nothing is returned if the broker
    was writing another checkpoint.  Logs younger than the checkpoint are left out, because a removed log may
    have had the same name.

    Raises:
        OSError: a file exists, but can't be read.
    """
    checkpoint = disk / CHECKPOINT
    if (disk / _UNFINISHED).exists() or not checkpoint.exists():
        return []
    written_ns = checkpoint.stat().st_mtime_ns
    found = []
    for topic, partition, point in _entries(checkpoint.read_text()):
        folder = disk / f"{topic}-{partition}"
        if _is_older(folder, written_ns):
            end = LogEnd(folder).read()
            found += [] if end is None else [LogFlushed(topic, partition, point, end)]
    return found


class _RecoveryPoint(NamedTuple):
    topic: str
    partition: int
    offset: int


def _entries(text: str) -> Iterator[_RecoveryPoint]:
    """The recovery point of each line; nothing if the file is incomplete or has another format."""
    version, _, rest = text.partition("\n")
    count, _, rest = rest.partition("\n")
    lines = [line.split() for line in rest.splitlines()]
    if (version, count) == (_VERSION, str(len(lines))) and all(map(_is_entry, lines)):
        yield from (_RecoveryPoint(topic, int(partition), int(point)) for topic, partition, point in lines)


def _is_entry(words: list[str]) -> bool:
    topic, *numbers = words or [""]
    return bool(topic) and len(numbers) == 2 and all(each.isdigit() for each in numbers)  # noqa: PLR2004


def _is_older(folder: Path, written_ns: int) -> bool:
    """Whether a partition's folder is older; its ``partition.metadata`` is written once, at its creation."""
    papers = folder / _PAPERS
    return papers.exists() and papers.stat().st_mtime_ns < written_ns and topic_id_of(folder) is not None
