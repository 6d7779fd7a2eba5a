"""Findings about copies that a permitted loss in the same partitions may explain.

A loss concerns an input if it is in the input's partition, or in a partition to which a transaction that
tried to copy the input wrote, because a copy or its marker may be lost there.  A removal of the log's start
explains only that a copy is missing: it takes no offset back.  A loss of a group's offsets concerns those of
its inputs that a transaction had tried to copy before it was over.  A lost decision on a transaction concerns
all inputs of the partitions from which it tried to copy: if it is committed late, its offsets are lower than
those that other transactions have committed in between.  No loss after the last read explains what was read.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.history.operations import History, Operation
from checkers.history.transactions import sends_of
from checkers.licences import Permit, licences_of
from checkers.licences.decisions import decisions_of
from checkers.licences.internal import Loss, losses
from checkers.transactional.copying.anomalies import LOST
from checkers.transactional.copying.loading import Copying
from checkers.verdict.verdict import Anomaly


class CopyFinding(NamedTuple):
    """An anomaly and its input, as the code of the input's place, and the offset."""

    anomaly: Anomaly
    place: int
    offset: int


class Excuses:
    """Licences that may explain findings.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        copying: the loaded copies of the history.
    """

    def __init__(self, history: History, copying: Copying) -> None:
        self._history = history
        self._copying = copying
        self._groups: dict[str, tuple[Loss, ...]] = {}
        self._decisions: dict[int, str | None] = {}
        reads = (*history.of("final-read"), *history.of("committed-offsets"))
        self._read_ns = max((operation.time_ns for operation in reads), default=NEVER)

    def judged(self, found: CopyFinding) -> Anomaly:
        """The anomaly; it is legal, with a licence, if an event may explain it."""
        text = self._of(found)
        return msgspec.structs.replace(found.anomaly, illegal=text is None, licence=text)

    def _of(self, found: CopyFinding) -> str | None:
        licences = licences_of(self._history)
        for where in dict.fromkeys(self._partitions(found)):
            for permit in licences.of(where):
                if self._may_explain(permit, found.anomaly):
                    return permit.text
        return self._decision(found.place) or self._offsets(found)

    def _partitions(self, found: CopyFinding) -> Iterator[PartitionName]:
        """The partition of the input, and the output partitions of transactions that tried to copy it."""
        place = self._copying.places[found.place]
        yield PartitionName(place.topic, place.partition)
        for begun in self._tried(found):
            for _, topic, partition, *_ in sends_of(begun):
                yield PartitionName(topic, partition)

    def _tried(self, found: CopyFinding) -> list[Operation]:
        """The invocations of the transactions that tried to copy an input."""
        attempts = self._copying.attempts
        tried = np.flatnonzero((attempts.place == found.place) & (attempts.offset == found.offset))
        rows = attempts.transaction[tried].tolist()
        return [self._history.operations[self._copying.transactions[row].begin] for row in rows]

    def _decision(self, place: int) -> str | None:
        """An event by which the decision about a transaction that copied from a place may be lost."""
        if place not in self._decisions:
            attempts, decisions = self._copying.attempts, decisions_of(self._history)
            tried = np.unique(attempts.transaction[attempts.place == place]).tolist()
            begun = [self._copying.transactions[row].begin for row in tried]
            rows = decisions.of(np.array(begun, dtype=np.int64)).tolist()
            self._decisions[place] = next((decisions.texts[row] for row in rows if row != NONE), None)
        return self._decisions[place]

    def _offsets(self, found: CopyFinding) -> str | None:
        """An event by which the offset may be lost that the group committed for an input."""
        since_ns = min((begun.time_ns for begun in self._tried(found)), default=0)
        met = (loss.text for loss in self._losses(found.place) if loss.meets(since_ns, self._read_ns))
        return next(met, None)

    def _losses(self, place: int) -> tuple[Loss, ...]:
        """Events by which the offsets of a place's group may be lost."""
        group = self._copying.places[place].group
        if group not in self._groups:
            partition = offsets_partition(self._history, group)
            number = None if partition is None else partition.partition
            has_setup = bool(self._history.of("setup"))
            self._groups[group] = losses(self._history, OFFSETS_TOPIC, number) if has_setup else ()
        return self._groups[group]

    def _may_explain(self, permit: Permit, anomaly: Anomaly) -> bool:
        event = permit.event
        return event.from_ns <= self._read_ns and (event.below is None or anomaly.id == LOST.id)
