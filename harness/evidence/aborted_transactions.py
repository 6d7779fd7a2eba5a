"""Evidence from disks: the aborted transactions that each replica has in its indexes (``.txnindex``).

A broker answers a fetch at read_committed with the aborted transactions of its own index, by which the
consumer leaves out their records (KIP-98).  A consumer would return the records of a transaction that the
index lacks.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from checkers.history.replicas import ABORTED, AbortedSeen
from harness.cluster.homes import disk_with, may_be_folder
from harness.kafka.segments.transaction_index import read_indexes
from harness.record.journal import Recorder


def gather_aborted(
    recorder: Recorder, disks: Mapping[str, Sequence[Path]], partitions: Iterable[tuple[str, int]]
) -> None:
    """Record the indexes of every replica, or why they can't be read; its log must have been read before.

    A broker writes an index after the log, so each marker in a log that was read is in its index.

    Args:
        recorder: writes as an observer.
        disks: node name to the folders of its log directories, of brokers.
        partitions: topics and numbers.
    """
    for topic, partition in partitions:
        for node, directories in disks.items():
            folder = disk_with(directories, f"{topic}-{partition}") / f"{topic}-{partition}"
            if may_be_folder(folder):
                began_ns = recorder.journal.clock.now_ns()
                seen = _read(folder, AbortedSeen(began_ns=began_ns, topic=topic, partition=partition))
                recorder.observe("observe", ABORTED, seen, node=node)


def _read(folder: Path, seen: AbortedSeen) -> AbortedSeen:
    """The observation with the indexes of a folder, or with the reason why they can't be read."""
    try:
        return msgspec.structs.replace(seen, segments=read_indexes(folder))
    except OSError as error:
        return msgspec.structs.replace(seen, error=f"{type(error).__name__}: {error.strerror or error}")
