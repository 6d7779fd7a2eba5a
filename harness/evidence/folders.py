"""Evidence from disks: the folders of partitions on each broker, with their topics.

A folder's name is ``<topic>-<partition>``.  A suffix shows its state: with ``-delete`` or ``-stray`` it is no
longer used, with ``-future`` it will replace another folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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
        found = sorted(row for directory in directories for row in folders_of(directory))
        recorder.observe("observe", FOLDERS, FoldersSeen(began_ns, found), node=node)


def folders_of(disk: Path) -> Iterator[tuple[str, str]]:
    """Names of the folders of partitions, and the topic id of each, without the metadata log.

    For a disk that can't be read there are none, and a folder that is renamed meanwhile is left out.
    """
    try:
        folders = [folder for folder in disk.iterdir() if not folder.name.startswith(f"{METADATA_TOPIC}-")]
    except OSError:
        return
    for folder in folders:
        try:
            topic_id = topic_id_of(folder)
        except OSError:
            continue
        if topic_id is not None:
            yield folder.name, topic_id
