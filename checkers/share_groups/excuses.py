"""Events that may explain findings about share groups, so that these are legal, or undecided.

A legal loss in the partition with the state of a share group excuses findings that depend on stored states
and were seen after it.  So does one in the partition of ``__consumer_offsets`` that stores which states the
group has: its coordinator initialises the others again.  Findings in the log of the share coordinator are
excused only if a state may have been initialised again after the loss (`initialised`).  A start offset that
goes back is also excused if that log lost records: the leader of the share partition keeps the start offset
that it has read, and the record that set it may be among those that were lost.

A legal loss in the partition that is read excuses findings that depend on offsets, because these may be
written again.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE, GroupPartition, PartitionName
from checkers.evidence.coordinators import (
    OFFSETS_TOPIC,
    SHARES_TOPIC,
    offsets_partition,
    shares_partition,
)
from checkers.history.operations import History
from checkers.licences import Permit, licences_of
from checkers.licences.internal import Loss, losses
from checkers.share_groups.anomalies import (
    HELD_TWICE,
    START_WENT_BACK,
    STATE_MISCOUNTED,
    STATE_UNASKED,
    STORED_START_BACK,
    TOO_MANY,
    UNCOMMITTED_READ,
    UNDELIVERED,
)
from checkers.share_groups.initialised import Initialised
from checkers.share_groups.loading import ShareGroups
from checkers.share_groups.passing import Passed
from checkers.share_groups.stored_logs import StoredFinding
from checkers.verdict.tallies import AnomalyTally, tallied
from checkers.verdict.verdict import Anomaly

_NEVER_EXCUSED = frozenset(
    (HELD_TWICE.id, TOO_MANY.id, STATE_UNASKED.id, STATE_MISCOUNTED.id, UNCOMMITTED_READ.id)
)
"""Anomalies that no loss of stored states explains."""
_OUT_OF_TRIES = "tries whose answers were lost may have used up the limit of deliveries"


class Excuses:
    """Events that may explain findings.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.
    """

    def __init__(self, history: History, groups: ShareGroups) -> None:
        self._history = history
        self._initialised = Initialised(history, groups)
        self._has_setup = bool(history.of("setup"))
        self._losses: dict[GroupPartition, dict[str, tuple[Loss, ...]]] = {}

    def judged(self, anomaly: Anomaly, name: GroupPartition) -> Anomaly:
        """A finding about one delivery; it is legal, with its licence, if an event may explain it."""
        licence = None if anomaly.id in _NEVER_EXCUSED else self._lost(name, _seen_ns(anomaly))
        if licence is None and anomaly.id == START_WENT_BACK.id:
            licence = self._truncated(name, until_ns=_seen_ns(anomaly))
        if anomaly.id == UNCOMMITTED_READ.id:
            # The partition may also have lost the marker of a commit after the delivery.
            licence = self._truncated(name) or self._undecided(anomaly)
        return with_licence(anomaly, licence)

    def stored(self, one: StoredFinding) -> Anomaly:
        """A finding about stored states; it is legal, with its licence, if a loss may explain it."""
        known = {} if one.anomaly.id in _NEVER_EXCUSED else self._losses_of(one.name)
        met = (
            loss.text
            for topic, losses_ in known.items()
            for loss in losses_
            if (topic == SHARES_TOPIC and (one.row is None or one.anomaly.id == STORED_START_BACK.id))
            or self._initialised.may_follow(loss, one.name, one.row)
        )
        return with_licence(one.anomaly, next(met, None))

    def _undecided(self, anomaly: Anomaly) -> str | None:
        """An event by which the decision on a transaction of the finding may have been lost."""
        decisions = licences_of(self._history).decisions
        rows = decisions.of(np.array(anomaly.witness, np.int64))
        return next((decisions.texts[row] for row in rows.tolist() if row != NONE), None)

    def passed(self, passed: Passed, row: int) -> Anomaly:
        """A finding about a passed record; it is legal, with its licence, if an event may explain it."""
        anomaly, offset = passed.anomaly(self._history, row), int(passed.offset[row])
        # The record may also have been written after the group had passed another one at its offset.
        licence = _OUT_OF_TRIES if passed.out_of_tries[row] else self._truncated(passed.name, offset=offset)
        return with_licence(anomaly, licence or self._lost(passed.name, _seen_ns(anomaly)))

    def tallies(self, passed: Passed) -> Iterator[AnomalyTally]:
        """The numbers of passed records of a share partition by whether an event may explain them."""
        if not len(passed.offset):
            return
        answered_ns = np.full(len(passed.offset), self._history.operations[passed.witness[-1]].time_ns)
        lost = self._lost(passed.name, int(answered_ns[0])) is not None
        truncated = min((permit.event.above or 0 for permit in self._truncating(passed.name)), default=NEVER)
        illegal = ~np.array(passed.out_of_tries, np.bool_) & (passed.offset < truncated) & ~np.bool_(lost)
        for broken in (True, False):
            rows = illegal == broken
            place, offset = str(passed.name), passed.offset[rows]
            yield from tallied(UNDELIVERED.id, place, answered_ns[rows], offset, illegal=broken)

    def _lost(self, name: GroupPartition, until_ns: int) -> str | None:
        """An event by which the state of a share partition may have been lost by a time."""
        known = (loss for losses_ in self._losses_of(name).values() for loss in losses_)
        return next((loss.text for loss in known if loss.meets(0, until_ns)), None)

    def _losses_of(self, name: GroupPartition) -> dict[str, tuple[Loss, ...]]:
        """The events by which the state of a share partition may have been lost, by topic."""
        if name not in self._losses:
            places = (shares_partition(self._history, name), offsets_partition(self._history, name.group))
            self._losses[name] = {
                topic: losses(self._history, topic, None if place is None else place.partition)
                for topic, place in zip((SHARES_TOPIC, OFFSETS_TOPIC), places, strict=True)
                if self._has_setup
            }
        return self._losses[name]

    def _truncated(self, name: GroupPartition, *, until_ns: int = NEVER, offset: int = NEVER) -> str | None:
        """An event that may have truncated a partition by a time, and removed the record at an offset."""
        met = (
            permit.text
            for permit in self._truncating(name)
            if permit.event.from_ns <= until_ns and (permit.event.above or 0) <= offset
        )
        return next(met, None)

    def _truncating(self, name: GroupPartition) -> list[Permit]:
        """The events that may have truncated a partition."""
        permits = licences_of(self._history).of(PartitionName(name.topic, name.partition))
        return [permit for permit in permits if permit.covers_returned and permit.event.below is None]


def _seen_ns(anomaly: Anomaly) -> int:
    return NEVER if anomaly.time_ns is None else anomaly.time_ns


def with_licence(anomaly: Anomaly, licence: str | None) -> Anomaly:
    """The finding; it is legal if it has a licence."""
    return msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)
