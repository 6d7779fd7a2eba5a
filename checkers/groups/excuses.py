"""Findings of groups that an event in the same partition may explain, if that event permits losses.

A group depends on two logs.  The first is its partition of the offsets topic, which stores its commits and
its generations.  If this log may have lost records, a commit may be lost, and a generation's number may be
assigned again.  The clients' history has the records that members received, independent of that log.  So such
a loss excuses neither a record that no member received, nor a commit in a generation that no member knew.  It
does not excuse what was seen before it, nor that an offset is lost that was committed after it.
The second log is the partition that is read, which may be truncated.  Then offsets that the group had passed
are written again, and a committed offset may be outside of the log, so that a member begins according to
``auto.offset.reset``.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, GroupPartition, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.groups.anomalies import (
    OFFSET_LOST,
    PREMATURE_COMMIT,
    STATIC_REFUSED,
    UNDELIVERED,
)
from checkers.history.operations import History
from checkers.licences import LicenceEvent, Permit, licences_of
from checkers.licences.internal import Loss, losses
from checkers.verdict.verdict import Anomaly

_OF_CLIENTS = frozenset((UNDELIVERED.id, PREMATURE_COMMIT.id, STATIC_REFUSED.id))
"""Anomalies that follow from clients' operations alone, so that no loss of a coordinator explains them.

An exception are findings that state that they rest on the coordinator's log.
"""


class GroupFinding(NamedTuple):
    """An anomaly of a group.

    Attributes:
        anomaly: what was found.
        place: the partition of the anomaly; None if it is about the whole group.
        offsets: offset of the record that it is about, or those of which one had been committed; empty if
            unknown.
        since_ns: when the commit was requested that was lost; 0 if there is none.
        by_log: whether it rests on a record of the coordinator, which this one may have lost since.
    """

    anomaly: Anomaly
    place: GroupPartition | None = None
    offsets: tuple[int, ...] = ()
    since_ns: int = 0
    by_log: bool = False


class Excuses:
    """Events that may explain findings about one group.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        group: its id.
    """

    def __init__(self, history: History, group: str) -> None:
        self._history = history
        self._group = group

    def judged(self, found: Iterable[GroupFinding]) -> Iterator[Anomaly]:
        """The anomalies; an anomaly is legal, with its licence, if an event may explain it."""
        for one in found:
            text = self._of(one)
            yield msgspec.structs.replace(one.anomaly, illegal=text is None, licence=text)

    def _of(self, found: GroupFinding) -> str | None:
        depends = found.by_log or found.anomaly.id not in _OF_CLIENTS
        if depends and (lost := self._lost(found)) is not None:
            return lost
        permits = () if found.place is None else self._permits(found.place)
        return next((permit.text for permit in permits if _may_explain(permit, found)), None)

    def _lost(self, found: GroupFinding) -> str | None:
        """An event that may have removed commits or generations before they were missed; None if none."""
        seen_ns = _seen_ns(found.anomaly)
        return next((loss.text for loss in self._losses if loss.meets(found.since_ns, seen_ns)), None)

    @cached_property
    def _losses(self) -> tuple[Loss, ...]:
        if not self._history.of("setup"):
            return ()
        partition = offsets_partition(self._history, self._group)
        return losses(self._history, OFFSETS_TOPIC, None if partition is None else partition.partition)

    def _permits(self, place: GroupPartition) -> Iterable[Permit]:
        return licences_of(self._history).of(PartitionName(place.topic, place.partition))


def _seen_ns(anomaly: Anomaly) -> int:
    return NEVER if anomaly.time_ns is None else anomaly.time_ns


def _may_explain(permit: Permit, found: GroupFinding) -> bool:
    event = permit.event
    # A record that was not delivered may have been written after the group had passed another one there.
    if found.anomaly.id != UNDELIVERED.id and event.from_ns > _seen_ns(found.anomaly):
        return False
    if found.anomaly.id == OFFSET_LOST.id:
        return not found.offsets or any(_is_outside(event, offset) for offset in found.offsets)
    # A group receives only records that all in-sync replicas have, and none that were deleted on request.
    removed = not found.offsets or any(_is_cut(event, offset) for offset in found.offsets)
    return removed and permit.covers_returned and event.below is None


def _is_outside(event: LicenceEvent, offset: int) -> bool:
    """Whether the log may have begun above a committed offset, or have ended below it."""
    return _is_cut(event, offset) and (event.below is None or offset < event.below)


def _is_cut(event: LicenceEvent, offset: int) -> bool:
    return event.above is None or offset >= event.above
