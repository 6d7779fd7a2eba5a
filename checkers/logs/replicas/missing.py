"""Logs that a broker must have because it is a replica of their partitions, and that are not on its disks.

A broker creates the log of a partition when it applies the record that makes it a replica, also while the
partition has no leader; a broker that starts does so for all its partitions.  So a folder of the partition
is due if `SETTLED_NS` have passed since the record was committed, the last fault ended, and the broker's
process started, and if recovery succeeded after that start and that fault.  A start, or the recovery of logs,
may take longer.  For recovery, every broker must have reported full ISRs of the workload's topics.

Nothing is due from a broker whose log directory failed, or one of whose log directories or folders could not
be read.  If an older history does not report that, nothing is due from a broker without any folder.  A folder
that will replace another one (``-future``, KIP-113) counts as that log, because it may get its name while the
folders are listed.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.replicas import FOLDERS, FoldersSeen
from checkers.history.units import NS_PER_S
from checkers.kraft.metadata.wipes import emptied
from checkers.logs.replicas.anomalies import MISSING_REPLICA
from checkers.logs.replicas.placed import SETTLED_NS, placed_of, undisturbed_since
from checkers.verdict.verdict import Anomaly


def find_missing(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """One finding for each log.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        figures: counts the folders that brokers must have.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        KeyError, TypeError: a record of the metadata log lacks a field that Kafka writes.
    """
    observed = history.observed(FOLDERS)
    if not observed:
        return
    placed = placed_of(history)
    for operation in observed:
        seen, node = msgspec.convert(operation.value, FoldersSeen), operation.node or ""
        due_ns = seen.began_ns - SETTLED_NS
        since_ns = undisturbed_since(history, node)
        if since_ns > due_ns or not _is_reliable(history, seen, since_ns):
            continue
        there = {(_partition_of(folder), topic_id) for folder, topic_id in seen.folders}
        for folder, topic_id, placed_ns in placed.due(node, due_ns, seen.began_ns):
            figures["folders_due"] += 1
            if (folder, topic_id) not in there:
                yield _missing(operation, folder, topic_id, seen.began_ns - placed_ns)


def _is_reliable(history: History, seen: FoldersSeen, since_ns: int) -> bool:
    """Whether recovery succeeded after a time, before the disks were read, and no wiped disk took records.

    Nothing is reliable if a folder or log directory could not be read.  Older histories do not report that,
    and then at least one folder must have been read.
    """
    recovered = [each for each in history.of("recover") if each.type is not INVOKE]
    within = bool(recovered) and since_ns <= recovered[-1].time_ns <= seen.began_ns
    if not within or recovered[-1].type is not OK:
        return False
    whole = bool(seen.folders) if seen.unread is None else not seen.unread
    return whole and emptied(history, seen.began_ns) is None


def _partition_of(folder: str) -> str:
    """The name of the log that a folder has or will replace: ``t-0`` for ``t-0.<hash>-future``."""
    return folder.rpartition(".")[0] if folder.endswith("-future") else folder


def _missing(operation: Operation, folder: str, topic_id: str, after_ns: int) -> Anomaly:
    return MISSING_REPLICA.found(
        f"{operation.node} had no log {folder} of the topic {topic_id}, {after_ns / NS_PER_S:.1f} s after it "
        "became a replica.",
        subject=folder,
        time_ns=operation.time_ns,
        witness=(operation.index,),
        explanation=("The metadata log has the record of that.",),
    )
