"""Findings about copies that a permitted loss in the same partitions may explain.

A loss concerns an input if it is in the input's partition, or in a partition to which a transaction that
tried to copy the input wrote, because a copy or its marker may be lost there.  A loss of a group's offsets
concerns all of its inputs.  A lost decision on a transaction concerns all inputs of the partitions from which
it tried to copy: if it is committed late, its offsets are lower than those that other transactions have
committed in between.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NONE, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.history.operations import History
from checkers.history.transactions import sends_of
from checkers.licences import licences_of
from checkers.licences.decisions import decisions_of
from checkers.licences.internal import may_have_lost
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
        self._groups: dict[str, str | None] = {}
        self._decisions: dict[int, str | None] = {}

    def judged(self, found: CopyFinding) -> Anomaly:
        """The anomaly; it is legal, with a licence, if an event may explain it."""
        text = self._of(found)
        return msgspec.structs.replace(found.anomaly, illegal=text is None, licence=text)

    def _of(self, found: CopyFinding) -> str | None:
        licences = licences_of(self._history)
        for where in dict.fromkeys(self._partitions(found)):
            for permit in licences.of(where):
                return permit.text
        return self._decision(found.place) or self._offsets(self._copying.places[found.place].group)

    def _partitions(self, found: CopyFinding) -> Iterator[PartitionName]:
        """The partition of the input, and the output partitions of transactions that tried to copy it."""
        place, attempts = self._copying.places[found.place], self._copying.attempts
        yield PartitionName(place.topic, place.partition)
        tried = np.flatnonzero((attempts.place == found.place) & (attempts.offset == found.offset))
        for row in attempts.transaction[tried].tolist():
            for _, topic, partition, *_ in sends_of(
                self._history.operations[self._copying.transactions[row].begin]
            ):
                yield PartitionName(topic, partition)

    def _decision(self, place: int) -> str | None:
        """An event by which the decision about a transaction that copied from a place may be lost."""
        if place not in self._decisions:
            attempts, decisions = self._copying.attempts, decisions_of(self._history)
            tried = np.unique(attempts.transaction[attempts.place == place]).tolist()
            begun = [self._copying.transactions[row].begin for row in tried]
            rows = decisions.of(np.array(begun, dtype=np.int64)).tolist()
            self._decisions[place] = next((decisions.texts[row] for row in rows if row != NONE), None)
        return self._decisions[place]

    def _offsets(self, group: str) -> str | None:
        """An event by which a group's offsets may be lost."""
        if group not in self._groups:
            self._groups[group] = self._offsets_lost(group) if self._history.of("setup") else None
        return self._groups[group]

    def _offsets_lost(self, group: str) -> str | None:
        partition = offsets_partition(self._history, group)
        number = None if partition is None else partition.partition
        return may_have_lost(self._history, OFFSETS_TOPIC, number)
