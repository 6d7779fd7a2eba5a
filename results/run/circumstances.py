"""Under which circumstances a guarantee was broken: faults in force, and why no licence applies.

They are read from the history, which may be damaged: what can't be read is left out.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.leader_epochs import starts_of
from checkers.history.operations import History, Operation
from checkers.licences import Licences, licences_of
from checkers.licences.permits import Permit
from checkers.logs.log.anomalies import ANOMALIES, NO_LICENCE
from results.run.anomaly_partitions import partition_of
from results.run.causes import Cause
from results.run.observation import FaultSeen
from results.run.readable import readable
from results.run.text import at_seconds

_BEFORE_NS = 15_000_000_000
"""The period of a cause begins this time before the earliest operation of its witness."""
_WITNESS_MAX = 12
_FAULTS_MAX = 10
_PERMITS_MAX = 3
_REMOVED = frozenset(("lost-write", "poll-skip", "int-poll-skip", "client-disagreement", "share-not-in-log"))
"""Anomalies that a removal of records may permit; only truncations permit the others."""
_OF_SHARES = {
    "share-phantom": False,
    "share-wrong-record": True,
    "share-not-in-log": True,
    "share-uncommitted-read": True,
}
"""Anomalies of share groups about the log, and whether a loss of records may permit them."""
_DECIDED = "G1a"
"""An anomaly that a loss of records never permits; a lost decision of a transaction may permit it."""
_LICENSED = frozenset(("log", "share-groups"))
"""Checkers whose anomalies a loss in their partition may permit."""


class Period(msgspec.Struct, frozen=True):
    """The time before a guarantee was broken, in nanoseconds of the history's clock."""

    from_ns: int
    until_ns: int


class Circumstances:
    """Circumstances of the causes of one run.

    Args:
        history: the run's history.
        faults: its faults, as `results.run.observation.observe` returns them.
    """

    def __init__(self, history: History, faults: Sequence[FaultSeen] = ()) -> None:
        self._history, self._faults = history, faults

    def period(self, cause: Cause) -> Period | None:
        """From some time before the witness until the guarantee was broken; None if that is not recorded."""
        shown = cause.witness
        if shown is None or shown.anomaly.time_ns is None or not self._history.operations:
            return None
        until_ns = shown.anomaly.time_ns
        first_ns = min([until_ns, *(one.time_ns for one in self.witness(cause))])
        return Period(max(first_ns - _BEFORE_NS, 0), until_ns)

    def witness(self, cause: Cause) -> list[Operation]:
        """The first operations of the witness, as far as the history has them."""
        shown, operations = cause.witness, self._history.operations
        indices = () if shown is None else shown.anomaly.witness[:_WITNESS_MAX]
        return [operations[index] for index in indices if 0 <= index < len(operations)]

    def faults(self, period: Period) -> list[FaultSeen]:
        """Faults that were in force at some time of a period."""
        return [
            fault
            for fault in self._faults
            if fault.attempted
            and fault.invoked_ns <= period.until_ns
            and (fault.healed_ns is None or fault.healed_ns >= period.from_ns)
        ]

    def lines(self, cause: Cause) -> Iterator[str]:
        """The faults in one sentence, then the lines of `reasons`; nothing if the period is not recorded."""
        period = self.period(cause)
        if period is None:
            return
        span = f"from {at_seconds(period.from_ns)} to {at_seconds(period.until_ns)}"
        faults = self.faults(period)
        if faults:
            texts = [_fault(fault) for fault in faults[:_FAULTS_MAX]]
            texts += [f"{len(faults) - _FAULTS_MAX:,} more"] if len(faults) > _FAULTS_MAX else []
            yield f"Faults in force {span}: {'; '.join(texts)}."
        else:
            yield f"No fault was in force {span}."
        yield from self.reasons(cause, period)

    def reasons(self, cause: Cause, period: Period) -> Iterator[str]:
        """Starts of the epochs of a loss, and why no event permits it; nothing for other anomalies."""
        shown = cause.witness
        place = None if shown is None else partition_of(cause.place, shown.checker)
        if shown is None or place is None or shown.checker not in _LICENSED:
            return
        yield from self._begun(place, cause)
        yield from self._unlicensed(place, cause, period.from_ns)

    def _begun(self, place: PartitionName, cause: Cause) -> Iterator[str]:
        """The start of each epoch of a cause. The history does not show whether a replica had to truncate."""
        if cause.epochs is None:
            return
        for epoch, offset in self._starts.get(str(place), ()):
            if cause.epochs[0] <= epoch <= cause.epochs[1]:
                yield (
                    f"Leader epoch {epoch} begins at offset {offset}. A replica that had records of an "
                    "earlier epoch from there on has to truncate them."
                )

    def _unlicensed(self, place: PartitionName, cause: Cause, from_ns: int) -> Iterator[str]:
        """Why the anomalies of the log checker are illegal: no event can permit them, or no event did."""
        kinds = [name for name, _ in cause.kinds if name in ANOMALIES or name in _OF_SHARES]
        never = [name for name in kinds if name in NO_LICENCE or not _OF_SHARES.get(name, True)]
        if never:
            yield f"No event permits a {' or a '.join(never)}."
        covered = frozenset(kinds).difference(never) - {_DECIDED}
        if self._licences is not None and cause.times_ns is not None and covered:
            permits = [one for one in self._licences.of(place) if not one.gap]
            if not permits:
                yield f"No event of the history permits a loss in {place}."
            else:
                period = Period(from_ns, cause.times_ns[1])
                removable = bool(covered & _REMOVED)
                what = "it" if len(covered) == len(kinds) else "the other anomalies"
                yield from _uncovered(permits, place, period, what, removable=removable)

    @cached_property
    def _licences(self) -> Licences | None:
        return readable(partial(licences_of, self._history))

    @cached_property
    def _starts(self) -> dict[str, tuple[tuple[int, int], ...]]:
        return readable(partial(starts_of, self._history)) or {}


def _fault(fault: FaultSeen) -> str:
    until = "" if fault.healed_ns is None else f" to {at_seconds(fault.healed_ns)}"
    return f"{fault.label}, from {at_seconds(fault.invoked_ns)}{until}"


def _uncovered(
    permits: Sequence[Permit], place: PartitionName, period: Period, what: str, *, removable: bool
) -> Iterator[str]:
    """Events that permit losses in the partition in that time, but not these losses."""
    timely = [
        one
        for one in permits
        if one.event.from_ns <= period.until_ns
        and one.event.to_ns >= period.from_ns
        and (removable or one.event.below is None)
    ]
    if not timely:
        yield f"No event from {at_seconds(period.from_ns)} to {at_seconds(period.until_ns)} permits {what}."
    for permit in timely[:_PERMITS_MAX]:
        yield f"This does not permit {what}: {permit.text}{_bounds(permit)}."
    if (left := len(timely) - _PERMITS_MAX) > 0:
        yield f"{left:,} more events permit losses in {place}, but not these."


def _bounds(permit: Permit) -> str:
    event = permit.event
    if event.above is not None:
        return f", losses from offset {event.above} on"
    return "" if event.below is None else f", losses below offset {event.below}"
