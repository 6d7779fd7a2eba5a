"""The brokers that must have a log of each partition, by the metadata log, and since when they ran."""

from collections.abc import Iterator
from typing import NamedTuple

from checkers.columns.tables import NEVER
from checkers.evidence.faults import fault_windows
from checkers.evidence.metadata_log import append_times, farthest
from checkers.evidence.partition_changes import REMOVED, PartitionReplay, PartitionState, partition_changes
from checkers.history.observed import nodes_seen
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup

SETTLED_NS = 10_000_000_000
"""How long a broker may take to apply a committed record."""


class DueLog(NamedTuple):
    """A log that a broker must have, and since when committed records have made it a replica."""

    folder: str
    topic_id: str
    since_ns: int


class Placed:
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

    def due(self, node: str, due_ns: int, until_ns: int) -> Iterator[DueLog]:
        """The logs that a broker must have at a time, if it has had time since another one.

        Args:
            node: the broker.
            due_ns: what was committed by this time must have been applied.
            until_ns: when its disks were read; nothing is due if changes until then may be unknown.
        """
        broker = self._ids.get(node)
        if broker is None or until_ns > self._changes.complete_until_ns:
            return
        for (topic_id, folder), states in self._states.items():
            others = [place for place, state in enumerate(states) if broker not in state.replicas]
            first = others[-1] + 1 if others else 0
            if topic_id not in self.removed_ns and first < len(states):
                since_ns = self._changes.span(states[first]).to_ns
                if since_ns <= due_ns:
                    yield DueLog(folder, topic_id, since_ns)


placed_of = once(Placed)
"""The replicas of a history, read from the metadata log once; arguments and errors as those of `Placed`."""


def undisturbed_since(history: History, node: str) -> int:
    """Since when a broker has run without any fault in the cluster.

    `NEVER` if it did not run to the end, or if no state of its container was reported.
    """
    windows = fault_windows(history)
    states = nodes_seen(history, node)
    running = bool(states) and states[-1].value.running
    if not running or any(window.fails_disk and window.concerns(node) for window in windows):
        return NEVER
    started_ns = max(operation.time_ns for operation, _ in states)
    return max((started_ns, *(window.end_ns for window in windows)))
