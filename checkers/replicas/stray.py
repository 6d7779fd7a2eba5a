"""Logs of topics that were removed, on the disks of brokers that ran long enough to know it.

A broker that applies the removal of a topic renames its partitions' folders at once, so that they end in
``-delete``, and deletes them later; one that starts sets aside the logs of topics that it does not know, as
``-stray``, or deletes them.  So a folder under a partition's own name is that of a topic that is there,
`SETTLED_NS` after the removal was committed, the last fault was over and the broker's process had begun.

A log directory that died keeps what it has: of its broker nothing is asked.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from checkers.columns import NEVER
from checkers.faults import fault_windows
from checkers.history import History
from checkers.metadata_log import append_times, farthest
from checkers.partition_changes import REMOVED
from checkers.replicas.kinds import STRAY_REPLICA
from checkers.replicas.observed import FOLDERS, FoldersSeen
from checkers.verdict import Anomaly

SETTLED_NS = 10_000_000_000
"""How long a broker may take to apply a removal that is committed."""
_DEAD_DISK = "dead-disk"
_NS_PER_S = 1_000_000_000


def find_stray(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """One finding for each log.

    Args:
        history: as `checkers.reading.read_history` returns it.
        figures: counts the folders, and the removals that each broker must have applied.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        KeyError, TypeError: a record of the metadata log has not the fields that Kafka gives it.
    """
    removed_ns = _removals(history) if history.observed(FOLDERS) else {}
    for operation in history.observed(FOLDERS):
        seen, node = msgspec.convert(operation.value, FoldersSeen), operation.node or ""
        due_ns = seen.began_ns - SETTLED_NS
        runs = _undisturbed_since(history, node) <= due_ns
        applied = {topic_id for topic_id, time_ns in removed_ns.items() if runs and time_ns <= due_ns}
        figures["folders_told"] += len(seen.folders)
        figures["removals_applied"] += len(applied)
        for folder, topic_id in seen.folders:
            if topic_id in applied and _is_in_use(folder):
                later_s = (seen.began_ns - removed_ns[topic_id]) / _NS_PER_S
                yield STRAY_REPLICA.found(
                    f"{node} kept {folder} of the topic {topic_id}, {later_s:.1f} s after it was removed.",
                    subject=folder,
                    time_ns=seen.began_ns,
                    witness=(operation.index,),
                    explanation=("The metadata log has the record that removed that topic.",),
                )


def _removals(history: History) -> dict[str, int]:
    """Ids of the topics that were removed, and since when that was committed; `NEVER` where nobody told."""
    log, times = farthest(history), append_times(history)
    return {
        data["topicId"]: times.span(offset, epoch).to_ns
        for offset, epoch, kind, data in (() if log is None else log.seen.records)
        if kind == REMOVED
    }


def _undisturbed_since(history: History, node: str) -> int:
    """Since when a broker ran and no fault was in force anywhere; `NEVER` where it did not run to the end."""
    windows = fault_windows(history)
    states = [o for o in history.observed("node") if o.node == node]
    stopped = bool(states) and states[-1].value.get("status") != "running"
    if stopped or any(window.kind == _DEAD_DISK and window.concerns(node) for window in windows):
        return NEVER
    return max(
        max((window.end_ns for window in windows), default=0),
        max((state.time_ns for state in states), default=0),
    )


def _is_in_use(folder: str) -> bool:
    """Whether a folder has a partition's own name: others end in what became of them."""
    return folder.rpartition("-")[2].isdigit()
