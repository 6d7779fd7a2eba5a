"""Logs of deleted topics or moved partitions, on brokers that ran long enough to remove them.

When a broker applies the removal of a topic, or a change that removes it from a partition's replicas, it
renames the folder at once, so that its name ends in ``-delete``, and deletes it later.  A broker that starts
deletes logs that are not its own, or sets them aside as ``-stray``.  So a folder with a partition's own name
belongs to a replica if `SETTLED_NS` have passed since the record was committed, the last fault ended, and the
broker's process started.

A failed log directory keeps its contents, so nothing is required of its broker.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from checkers.history.operations import History, Operation
from checkers.history.replicas import FOLDERS, FoldersSeen
from checkers.history.units import NS_PER_S
from checkers.kraft.metadata.wipes import emptied
from checkers.logs.replicas.anomalies import STRAY_REPLICA
from checkers.logs.replicas.placed import SETTLED_NS, placed_of, undisturbed_since
from checkers.verdict.verdict import Anomaly


def find_stray(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """One finding for each log.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        figures: counts the folders, and the removals that each broker must have applied.

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
        figures["folders_listed"] += len(seen.folders)
        due_ns = seen.began_ns - SETTLED_NS
        if undisturbed_since(history, node) > due_ns:
            continue
        figures["removals_applied"] += sum(time_ns <= due_ns for time_ns in placed.removed_ns.values())
        for folder, topic_id in seen.folders:
            removed_ns = placed.removed_ns.get(topic_id)
            gone_ns = (
                placed.left_ns(node, folder, topic_id, seen.began_ns) if removed_ns is None else removed_ns
            )
            if gone_ns is None or gone_ns > due_ns or not _is_in_use(folder):
                continue
            if removed_ns is not None or emptied(history, seen.began_ns) is None:
                what = "was only on other brokers" if removed_ns is None else "was removed"
                yield _stray(operation, folder, topic_id, (seen.began_ns - gone_ns, what))


def _stray(operation: Operation, folder: str, topic_id: str, after: tuple[int, str]) -> Anomaly:
    after_ns, what = after
    after_s = after_ns / NS_PER_S
    return STRAY_REPLICA.found(
        f"{operation.node} kept {folder} of the topic {topic_id}, {after_s:.1f} s after it {what}.",
        subject=folder,
        time_ns=operation.time_ns,
        witness=(operation.index,),
        explanation=("The metadata log has the record of that.",),
    )


def _is_in_use(folder: str) -> bool:
    """Whether a folder has a partition's own name; other folders have a suffix such as ``-delete``."""
    return folder.rpartition("-")[2].isdigit()
