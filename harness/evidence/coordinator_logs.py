"""Reads the logs of partitions in which coordinators keep their states, from brokers' disks."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, NamedTuple

from harness.cluster.homes import disk_with, may_be_folder
from harness.evidence.leader_epochs import partitions_of_kafka
from harness.kafka.segments.coordinator_log import Content, Decode, Placed, SegmentRecords, read_segment
from harness.kafka.segments.growing import segments_in
from harness.record.journal import Clock

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


class FarthestLog(NamedTuple, Generic[Content]):
    """The log of the replica of a partition that has the newest leader epoch, and then the longest log.

    Attributes:
        began_ns: when reading began, nanoseconds of the clock.
        partition: number of the partition.
        node: name of the node.
        folder: the replica's folder.
        read: the log.
    """

    began_ns: int
    partition: int
    node: str
    folder: Path
    read: ReadLog[Content]


def farthest_logs(
    clock: Clock, disks: Mapping[str, Sequence[Path]], topic: str, decode: Decode[Content]
) -> Iterator[FarthestLog[Content]]:
    """Read the farthest replica of each partition of a topic; without the topic, nothing.

    What other replicas have is left out: a deposed leader may have appended records that no coordinator has
    read.

    Args:
        clock: the history's clock.
        disks: node name to the folders of its log directories, of brokers.
        topic: the topic.
        decode: decodes records.
    """
    for name, partition in partitions_of_kafka(disks):
        if name == topic:
            began_ns = clock.now_ns()
            folders = dict(replicas_of(disks, topic, partition))
            node = farthest(folders)
            if node is not None:
                read = read_folder(folders[node], decode)
                yield FarthestLog(began_ns, partition, node, folders[node], read)


def replicas_of(
    disks: Mapping[str, Sequence[Path]], topic: str, partition: int
) -> Iterator[tuple[str, Path]]:
    """Yield the nodes that have a replica of a partition, and its folders.

    The folder of a disk that can't be read is one of them, so that reading it reports the error.

    Args:
        disks: node name to the folders of its log directories, of brokers.
        topic: the topic.
        partition: number of the partition.
    """
    name = f"{topic}-{partition}"
    for node, directories in disks.items():
        folder = disk_with(directories, name) / name
        if may_be_folder(folder):
            yield node, folder


def farthest(folders: Mapping[str, Path]) -> str | None:
    """The node whose log has the newest leader epoch, and then the longest one; None without any log.

    Args:
        folders: node name to the replica's folder.
    """
    read: dict[str, ReadLog[object]] = {node: read_folder(folder, None) for node, folder in folders.items()}
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
