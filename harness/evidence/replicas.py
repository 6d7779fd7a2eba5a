"""Evidence from disks: the batches of every replica, read while the nodes run.

docs/decisions/0005 gives the reasons; docs/histories.md, Replicas, describes the format.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.history.packing import pack
from checkers.history.replicas import COLUMN_TYPES, REPLICA, ReplicaSeen, ReplicaUnread
from harness.cluster.homes import disk_with, is_folder, may_be_folder
from harness.kafka.segments.log_folder import LogRead, read_log
from harness.record.journal import Recorder

_PAUSE_S = 0.1
KEPT_BYTES_MAX = 256 * 2**20
"""Maximum size of the segments that a run keeps if replicas differ or are damaged, bytes."""


class Reading(NamedTuple):
    """One log on one disk: its content, or the reason why it could not be read.

    Attributes:
        began_ns: time when reading began, on the history's clock.
        log: content of the log.
        error: reason why it could not be read.
    """

    began_ns: int
    log: LogRead | None
    error: str | None = None


class ReplicaReader:
    """Reads the replicas of a run's partitions from the nodes' disks and records them.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
        homes: node name to its folder in the run, which is kept after the cluster is removed.
        settle_bound_s: how long all partitions together may take until their replicas' ends are equal.
    """

    def __init__(
        self,
        recorder: Recorder,
        disks: Mapping[str, Sequence[Path]],
        homes: Mapping[str, Path],
        settle_bound_s: float,
    ) -> None:
        self._recorder = recorder
        self._disks = dict(disks)
        self._homes = dict(homes)
        self._deadline = time.monotonic() + settle_bound_s
        self._left_bytes = KEPT_BYTES_MAX

    def gather(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Record every replica of these partitions; keep segments where replicas differ or are damaged."""
        for topic, partition in partitions:
            folder = f"{topic}-{partition}"
            readings = self._settled(folder)
            replicas = {node: seen_of(topic, partition, reading) for node, reading in readings.items()}
            for node, seen in replicas.items():
                self._recorder.observe("observe", REPLICA, seen, node=node)
            if _stands_out(replicas.values()):
                self._keep(folder, readings)

    def _settled(self, folder: str) -> dict[str, Reading]:
        """Readings with equal ends, or the last ones before the deadline, of all nodes with a replica."""
        while True:
            readings = {
                node: read_disk(disk_with(disks, folder) / folder, self._recorder.journal.clock.now_ns)
                for node, disks in self._disks.items()
                if any(may_be_folder(disk / folder) for disk in disks) or not is_folder(disks[0])
            }
            ends = {reading.log.end for reading in readings.values() if reading.log is not None}
            if len(ends) <= 1 or time.monotonic() > self._deadline:
                return readings
            time.sleep(_PAUSE_S)

    def _keep(self, folder: str, readings: Mapping[str, Reading]) -> None:
        for node, reading in readings.items():
            if reading.log is not None and reading.log.size <= self._left_bytes:
                self._left_bytes -= reading.log.size
                target = self._homes[node] / "segments" / folder
                _copy_files(disk_with(self._disks[node], folder) / folder, target, reading.log.files)


def read_disk(folder: Path, now_ns: Callable[[], int]) -> Reading:
    """Read a log; if it can't be read, this is evidence too."""
    began_ns = now_ns()
    try:
        return Reading(began_ns, read_log(folder))
    except OSError as error:
        return Reading(began_ns, None, f"{type(error).__name__}: {error.strerror or error}")


def seen_of(topic: str, partition: int, reading: Reading) -> ReplicaSeen | ReplicaUnread:
    """The value of an observation, as docs/histories.md gives it."""
    log = reading.log
    if log is None:
        return ReplicaUnread(began_ns=reading.began_ns, topic=topic, partition=partition, error=reading.error)
    return ReplicaSeen(
        began_ns=reading.began_ns,
        topic=topic,
        partition=partition,
        topic_id=log.topic_id,
        log_start=log.start,
        end=log.end,
        segments=len(log.files),
        active=log.active,
        left=None if log.left is None else pack(log.left, "base_offset", COLUMN_TYPES),
        bytes=log.size,
        count=len(log.columns["base_offset"]),
        tail=None if log.tail is None else (log.tail[0], *log.tail[1]),
        corrupt=[(file, *damage) for file, damage in log.damage],
        batches={name: pack(log.columns[name], name, COLUMN_TYPES) for name in COLUMN_TYPES},
    )


def _stands_out(replicas: Iterable[ReplicaSeen | ReplicaUnread]) -> bool:
    """Whether replicas of one partition differ, or one is damaged."""
    read = [seen for seen in replicas if isinstance(seen, ReplicaSeen)]
    damaged = any(seen.corrupt or seen.tail for seen in read)
    return damaged or any(seen.batches != read[0].batches for seen in read)


def _copy_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files; those that no longer exist are left out."""
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
