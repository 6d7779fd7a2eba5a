"""Evidence from disks: the folders of partitions on each broker, with their topics.

A folder is ``<topic>-<partition>``; where it ends otherwise, that reports the outcome of it: ``-delete`` and
``-stray`` are set aside, ``-future`` is to take another's place.
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
    """Names of the folders of partitions, and the topic id of each; the metadata log's is left out.

    A disk that can't be read has none, and a folder that is renamed meanwhile is left out.
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
