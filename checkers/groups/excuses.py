"""Findings of groups that an event in the same partition may explain, if that event permits losses.

A group depends on two logs.  The first is its partition of the offsets topic, which stores its commits and
its generations.  If this log may have lost records, a commit may be lost, and a generation's number may be
assigned again.  The clients' history has the records that members received, independent of that log.  So such
a loss excuses neither a record that no member received, nor a commit in a generation that no member knew.
The second log is the partition that is read, which may be truncated.  Then offsets that the group had passed
are written again, and a committed offset may be outside of the log, so that a member begins according to
``auto.offset.reset``.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, NONE, GroupPartition, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, offsets_partition
from checkers.groups.anomalies import (
    LOGGED_EPOCH_AHEAD,
    LOGGED_EPOCH_BACK,
    LOGGED_TWO_OWNERS,
    OFFSET_LOST,
    PREMATURE_COMMIT,
    STATIC_REFUSED,
    UNDELIVERED,
)
from checkers.history.operations import History
from checkers.licences import Permit, licences_of
from checkers.licences.internal import Loss, losses
from checkers.verdict.verdict import Anomaly

_OF_CLIENTS = frozenset((UNDELIVERED.id, PREMATURE_COMMIT.id, STATIC_REFUSED.id))
"""Anomalies that follow from clients' operations alone, so that no loss of a coordinator explains them."""

_IN_LOG = frozenset((LOGGED_EPOCH_BACK.id, LOGGED_EPOCH_AHEAD.id, LOGGED_TWO_OWNERS.id))
"""Anomalies of records in the log of the offsets topic; their time is when the last record was read."""


class GroupFinding(NamedTuple):
    """An anomaly of a group.

    Attributes:
        anomaly: what was found.
        place: the partition of the anomaly; None if it is about the whole group.
        offset: offset of the record that it is about, `NONE` if it is not about a record.
    """

    anomaly: Anomaly
    place: GroupPartition | None = None
    offset: int = NONE


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
        if found.anomaly.id not in _OF_CLIENTS and (lost := self._lost_until(found.anomaly)) is not None:
            return lost
        permits = () if found.place is None else self._permits(found.place)
        return next((permit.text for permit in permits if _may_explain(permit, found)), None)

    def _lost_until(self, anomaly: Anomaly) -> str | None:
        """An event that may have removed commits or generations before the anomaly; None if there is none.

        Only for records in the log it is certain that they were written before the anomaly's time.
        """
        until_ns = anomaly.time_ns if anomaly.id in _IN_LOG else None
        met = (loss.text for loss in self._losses if loss.meets(0, NEVER if until_ns is None else until_ns))
        return next(met, None)

    @cached_property
    def _losses(self) -> tuple[Loss, ...]:
        if not self._history.of("setup"):
            return ()
        partition = offsets_partition(self._history, self._group)
        return losses(self._history, OFFSETS_TOPIC, None if partition is None else partition.partition)

    def _permits(self, place: GroupPartition) -> Iterable[Permit]:
        return licences_of(self._history).of(PartitionName(place.topic, place.partition))


def _may_explain(permit: Permit, found: GroupFinding) -> bool:
    event = permit.event
    if event.from_ns > (NEVER if found.anomaly.time_ns is None else found.anomaly.time_ns):
        return False
    if found.anomaly.id == OFFSET_LOST.id:
        return True
    # A group receives only records that all in-sync replicas have, and none that were deleted on request.
    truncated = permit.covers_returned and event.below is None
    return truncated and (event.above is None or found.offset >= event.above)
