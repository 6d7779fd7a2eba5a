"""Findings of groups that an event in the same partition may explain, if it permits losses.

A group depends on two logs.  Its partition of the offsets topic keeps its commits and its generations: if
that may have lost records, a commit may be gone, and a generation's number may be given again.  The records
that members received are in the clients' history, whatever that log lost.  So a loss excuses neither a record
that no member received, nor a commit in a generation that no member knew.  The partition that is read may be
truncated: then offsets that the group had passed are written again, and a committed offset may be outside of
the log, so that a member begins according to ``auto.offset.reset``.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, NONE, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.groups.anomalies import OFFSET_LOST, PREMATURE_COMMIT, UNDELIVERED
from checkers.groups.loading import GroupPartition
from checkers.history.operations import History
from checkers.licences import Permit, licences_of
from checkers.licences.internal import may_have_lost
from checkers.verdict.verdict import Anomaly

_OF_CLIENTS = frozenset((UNDELIVERED.id, PREMATURE_COMMIT.id))
"""Anomalies that clients' operations alone show, so that no loss of a coordinator explains them."""


class GroupFinding(NamedTuple):
    """An anomaly of a group.

    Attributes:
        anomaly: what was found.
        place: the partition that it is about; None where it is about the group.
        offset: of the record that it is about, `NONE` without one.
    """

    anomaly: Anomaly
    place: GroupPartition | None = None
    offset: int = NONE


class Excuses:
    """What may explain findings about one group.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        group: its id.
    """

    def __init__(self, history: History, group: str) -> None:
        self._history = history
        self._group = group

    def judged(self, found: Iterable[GroupFinding]) -> Iterator[Anomaly]:
        """The anomalies, legal with their licence where an event may explain them."""
        for one in found:
            text = self._of(one)
            yield msgspec.structs.replace(one.anomaly, illegal=text is None, licence=text)

    def _of(self, found: GroupFinding) -> str | None:
        if found.anomaly.id not in _OF_CLIENTS and self._lost is not None:
            return self._lost
        permits = () if found.place is None else self._permits(found.place)
        return next((permit.text for permit in permits if _may_explain(permit, found)), None)

    @cached_property
    def _lost(self) -> str | None:
        """An event that may have removed commits or generations of the group; None without one."""
        if not self._history.of("setup"):
            return None
        partition = offsets_partition(self._history, self._group)
        number = None if partition is None else partition.partition
        return may_have_lost(self._history, OFFSETS_TOPIC, number)

    def _permits(self, place: GroupPartition) -> Iterable[Permit]:
        return licences_of(self._history).of(PartitionName(place.topic, place.partition))


def _may_explain(permit: Permit, found: GroupFinding) -> bool:
    event = permit.event
    if event.from_ns > (NEVER if found.anomaly.time_ns is None else found.anomaly.time_ns):
        return False
    if found.anomaly.id == OFFSET_LOST.id:
        return True
    # A group is given what all replicas in sync have, and what was removed on request is no longer there.
    truncated = permit.covers_returned and event.below is None
    return truncated and (event.above is None or found.offset >= event.above)
