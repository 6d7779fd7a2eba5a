"""At which offset each leader epoch of a partition began, as replicas noted it (KIP-101).

A broker notes, when it becomes leader, its log's end as the beginning of its epoch, and followers take that
over with the records.  An epoch that began where the next one did is not kept: it added nothing.
"""

from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from checkers.columns import PartitionName
from checkers.history import History
from checkers.replicas.evidence import ReplicaLog, batches_of

LEADER_EPOCHS = "leader-epochs"
"""Key of the observations."""

Entries = list[tuple[int, int]]
"""Epochs and their first offsets, ascending."""


class LeaderEpochsSeen(msgspec.Struct, frozen=True):
    """What one replica noted of its partition's leader epochs."""

    topic: str
    partition: int
    entries: Entries


class LeaderEpochs:
    """Beginnings of leader epochs; of the replica that came farthest, of its batches where none noted any."""

    def __init__(self, history: History) -> None:
        self._history = history

    def start_of(self, partition: PartitionName, epoch: int) -> int | None:
        """First offset of an epoch, or of the first one behind it; None where nothing tells it.

        Raises:
            msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
        """
        for told in (self._noted, self._appended):
            starts = [start for number, start in told.get(partition, []) if number >= epoch]
            if starts:
                return starts[0]
        return None

    @cached_property
    def _noted(self) -> dict[PartitionName, Entries]:
        best: dict[PartitionName, Entries] = {}
        for operation in self._history.observed(LEADER_EPOCHS):
            seen = msgspec.convert(operation.value, LeaderEpochsSeen)
            partition = PartitionName(seen.topic, seen.partition)
            # Where two come equally far, the one that knows of more.
            if _reach(seen.entries) > _reach(best.get(partition, [])):
                best[partition] = seen.entries
        return best

    @cached_property
    def _appended(self) -> dict[PartitionName, Entries]:
        best: dict[PartitionName, tuple[tuple[int, int], ReplicaLog]] = {}
        for log in batches_of(self._history).logs:
            if len(log):
                reach = (int(log["leader_epoch"][-1]), log.end)
                if log.partition not in best or reach > best[log.partition][0]:
                    best[log.partition] = reach, log
        return {partition: _entries(log) for partition, (_, log) in best.items()}


def _reach(entries: Entries) -> tuple[Any, int]:
    return (entries[-1] if entries else (-1, -1)), len(entries)


def _entries(log: ReplicaLog) -> Entries:
    epochs, base = log["leader_epoch"], log["base_offset"]
    first = np.flatnonzero(np.diff(epochs, prepend=-1))
    return list(zip(epochs[first].tolist(), base[first].tolist(), strict=True))
