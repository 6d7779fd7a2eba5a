"""Reads the logs of partitions in which coordinators keep their states, from brokers' disks."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple

from harness.kafka.segments.coordinator_log import Content, Decode, Placed, SegmentRecords, read_segment
from harness.kafka.segments.growing import segments_in

_READINGS_MAX = 5
_PAUSE_S = 0.02


class ReadLog(NamedTuple, Generic[Content]):
    """One replica's log.

    Attributes:
        place: leader epoch of the last batch, and the offset after it; (-1, 0) if there is none.
        records: all records, in order.
        unread: first offsets of batches that could not be decoded.
        error: why the log could not be read completely.
    """

    place: tuple[int, int] = (-1, 0)
    records: Sequence[Placed[Content]] = ()
    unread: Sequence[int] = ()
    error: str | None = None


def farthest(folders: Mapping[str, Path]) -> str | None:
    """The node whose log has the newest leader epoch, and then the longest one; None without any log.

    Args:
        folders: node name to the replica's folder.
    """
    read: dict[str, ReadLog[Any]] = {node: read_folder(folder, None) for node, folder in folders.items()}
    return max(read, key=lambda node: (read[node].error is None, read[node].place), default=None)


def read_folder(folder: Path, decode: Decode[Content] | None) -> ReadLog[Content]:
    """Read a replica's log; it is read again if segments were deleted or replaced meanwhile.

    Args:
        folder: the replica's folder.
        decode: decodes records; None if only the end is needed.
    """
    for _ in range(_READINGS_MAX):
        try:
            names = sorted(segments_in(folder))
            return _joined(names, [read_segment((folder / name).read_bytes(), decode) for name in names])
        except FileNotFoundError:
            time.sleep(_PAUSE_S)
        except OSError as error:
            return ReadLog(error=f"{type(error).__name__}: {error.strerror or error}")
    return ReadLog(error="segments are being replaced")


def _joined(names: Sequence[str], segments: Sequence[SegmentRecords[Content]]) -> ReadLog[Content]:
    if not segments:
        return ReadLog(error="no segment can be read")
    damaged = [
        name
        for name, segment in zip(names, segments, strict=True)
        if segment.damaged or (segment.unfinished and name != names[-1])
    ]
    ends = [(one.leader_epoch, one.end) for one in segments if one.end is not None]
    return ReadLog(
        ends[-1] if ends else (-1, int(names[-1].partition(".")[0])),
        [record for segment in segments for record in segment.records],
        [offset for segment in segments for offset in segment.unread],
        f"{damaged[0]} is damaged" if damaged else None,
    )
