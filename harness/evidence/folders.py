"""Evidence from disks: the folders of partitions on each broker, with their topics.

A folder's name is ``<topic>-<partition>``.  A suffix shows its state: with ``-delete`` or ``-stray`` it is no
longer used, with ``-future`` it will replace another folder.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.history.replicas import FOLDERS, METADATA_TOPIC, FoldersSeen
from harness.kafka.segments.log_folder import topic_id_of
from harness.record.journal import Recorder


def gather_folders(recorder: Recorder, disks: Mapping[str, Sequence[Path]]) -> None:
    """Record the folders of every broker.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
    """
    for node, directories in disks.items():
        began_ns = recorder.journal.clock.now_ns()
        listed = [folders_of(directory) for directory in directories]
        found = sorted(row for each in listed for row in each.found)
        unread = sorted(name for each in listed for name in each.unread)
        recorder.observe("observe", FOLDERS, FoldersSeen(began_ns, found, unread), node=node)


class Folders(NamedTuple):
    """The folders of partitions on one disk, without the metadata log.

    Attributes:
        found: the name of each and the id of its topic.
        unread: names of folders that could not be read, or of the disk if that could not be read.
    """

    found: list[tuple[str, str]]
    unread: list[str]


def folders_of(disk: Path) -> Folders:
    """Read the names and topic ids of the folders of partitions on a disk.

    A folder that is renamed meanwhile is left out, and so is anything whose name is not a partition's.
    """
    listed = Folders([], [])
    try:
        names = sorted(folder.name for folder in disk.iterdir() if "-" in folder.name)
    except OSError:
        return Folders([], [disk.name])
    for name in names:
        try:
            topic_id = None if name.startswith(f"{METADATA_TOPIC}-") else topic_id_of(disk / name)
        except NotADirectoryError:
            continue  # one of the disk's checkpoints
        except OSError:
            listed.unread.append(name)
            continue
        if topic_id is not None:
            listed.found.append((name, topic_id))
    return listed
