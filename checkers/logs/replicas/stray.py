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

from checkers.columns.tables import NEVER
from checkers.evidence.faults import fault_windows
from checkers.evidence.metadata_log import append_times, farthest
from checkers.evidence.partition_changes import REMOVED, PartitionReplay, PartitionState, partition_changes
from checkers.history.observed import nodes_seen
from checkers.history.operations import History, Operation
from checkers.history.replicas import FOLDERS, FoldersSeen
from checkers.history.setup import recorded_setup
from checkers.history.units import NS_PER_S
from checkers.kraft.metadata.wipes import emptied
from checkers.logs.replicas.anomalies import STRAY_REPLICA
from checkers.verdict.verdict import Anomaly

SETTLED_NS = 10_000_000_000
"""How long a broker may take to apply a committed removal."""


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
    placed = _Placed(history)
    for operation in observed:
        seen, node = msgspec.convert(operation.value, FoldersSeen), operation.node or ""
        figures["folders_told"] += len(seen.folders)
        due_ns = seen.began_ns - SETTLED_NS
        if _undisturbed_since(history, node) > due_ns:
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
                what = "was on other brokers alone" if removed_ns is None else "was removed"
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


class _Placed:
    """Removed topics, and the brokers with replicas, according to the metadata log.

    Attributes:
        removed_ns: id of each removed topic to the time since when the removal was committed; `NEVER` if not
            reported.
    """

    def __init__(self, history: History) -> None:
        self.removed_ns: dict[str, int] = {}
        self._changes = partition_changes(history)
        self._ids = {name: number for number, name in recorded_setup(history).names.items()}
        self._states: dict[tuple[str, str], list[PartitionState]] = {}
        log, times = farthest(history), append_times(history)
        if log is None:
            return
        replay = PartitionReplay(log.seen)
        for record in log.seen.records:
            offset, epoch, kind, data = record
            if kind == REMOVED:
                self.removed_ns[data["topicId"]] = times.span(offset, epoch).to_ns
            for step in replay.take(record):
                if step.after is not None:
                    folder = f"{step.partition.topic}-{step.partition.partition}"
                    self._states.setdefault((step.content.topic_id, folder), []).append(step.after)

    def left_ns(self, node: str, folder: str, topic_id: str, until_ns: int) -> int | None:
        """The time from which on, until another time, committed records assign no replica to a broker.

        None if the broker has one, or if that is unknown.
        """
        states, broker = self._states.get((topic_id, folder)), self._ids.get(node)
        if states is None or broker is None or until_ns > self._changes.complete_until_ns:
            return None
        own = [place for place, state in enumerate(states) if broker in state.replicas]
        first = own[-1] + 1 if own else 0
        return self._changes.span(states[first]).to_ns if first < len(states) else None


def _undisturbed_since(history: History, node: str) -> int:
    """Since when a broker has run without any fault in the cluster; `NEVER` if it did not run to the end."""
    windows = fault_windows(history)
    states = nodes_seen(history, node)
    stopped = bool(states) and not states[-1].value.running
    if stopped or any(window.fails_disk and window.concerns(node) for window in windows):
        return NEVER
    return max(
        max((window.end_ns for window in windows), default=0),
        max((operation.time_ns for operation, _ in states), default=0),
    )


def _is_in_use(folder: str) -> bool:
    """Whether a folder has a partition's own name; other folders have a suffix such as ``-delete``."""
    return folder.rpartition("-")[2].isdigit()
