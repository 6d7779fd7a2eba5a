"""Evidence from disks: the start offsets of leader epochs that each replica stored.

A broker stores them in ``leader-epoch-checkpoint`` next to a partition's segments (KIP-101): a version, the
number of entries, then one line ``epoch start_offset`` per entry.  It replaces the whole file, so it can be
read while the broker runs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from checkers.evidence.leader_epochs import LEADER_EPOCHS
from checkers.history.observed import LeaderEpochsSeen
from checkers.history.replicas import METADATA_TOPIC
from harness.cluster.homes import directory_id_of, disk_with
from harness.record.journal import Recorder

CHECKPOINT = "leader-epoch-checkpoint"
_VERSION = "0"
_OWN = re.compile(r"(__[a-z_]+)-(\d+)")
"""Folder of a partition of one of Kafka's internal topics; folders that are being deleted do not match."""


def gather_leader_epochs(
    recorder: Recorder, disks: Mapping[str, Sequence[Path]], partitions: Iterable[tuple[str, int]]
) -> None:
    """Record the leader epochs of every readable replica; a replica without the file has none.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
        partitions: topics and numbers.
    """
    for topic, partition in partitions:
        for node, directories in disks.items():
            disk = disk_with(directories, f"{topic}-{partition}")
            began_ns = recorder.journal.clock.now_ns()
            entries = read_checkpoint(disk / f"{topic}-{partition}" / CHECKPOINT)
            if entries is not None:
                value = LeaderEpochsSeen(
                    began_ns=began_ns,
                    node=node,
                    topic=topic,
                    partition=partition,
                    directory_id=_directory_id(disk),
                    entries=entries,
                )
                recorder.observe("observe", LEADER_EPOCHS, value, node=node)


def partitions_of_kafka(disks: Mapping[str, Sequence[Path]]) -> list[tuple[str, int]]:
    """Partitions of Kafka's internal topics on any of the disks that can be read, without the metadata topic.

    Args:
        disks: node name to the folders of its log directories, of brokers.
    """
    found = (_OWN.fullmatch(name) for some in disks.values() for disk in some for name in _names(disk))
    return sorted({(match[1], int(match[2])) for match in found if match and match[1] != METADATA_TOPIC})


def _names(disk: Path) -> list[str]:
    """Names of the entries of a disk; none if it can't be read, which `gather_folders` records."""
    try:
        return [path.name for path in disk.iterdir()]
    except OSError:
        return []


def read_checkpoint(file: Path) -> list[tuple[int, int]] | None:
    """Epochs and their first offsets; None if there is no such file, or if it does not have this format."""
    try:
        version, count, *lines = file.read_text().split("\n")
        entries = [(int(epoch), int(start)) for epoch, start in map(str.split, filter(None, lines))]
    except (OSError, ValueError):
        return None
    return entries if (version, count) == (_VERSION, str(len(entries))) else None


def _directory_id(disk: Path) -> str | None:
    """The id of a log directory; None if it has none, or can't be read."""
    try:
        return directory_id_of(disk)
    except OSError:
        return None
