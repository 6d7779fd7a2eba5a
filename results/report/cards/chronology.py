"""The events around a cause in the order of time, read from the history.

Leaders, changes of ISR and ELR, elections and who requested them, reassignments, starts of leader epochs,
faults in force, the operations of the witness, and the time at which the guarantee was broken.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import Election, Reassignment, elections_of, reassignments_of
from checkers.evidence.leader_epochs import starts_of
from checkers.evidence.partition_changes import NOBODY, PartitionChanges, PartitionState, partition_changes
from checkers.history.error_codes import named_code
from checkers.history.operations import History, Operation, OperationType
from checkers.licences import Licences, licences_of
from checkers.licences.permits import Permit
from checkers.logs.log.anomalies import ANOMALIES, NO_LICENCE
from checkers.verdict.places import QUORUM
from results.markup.cleaning import clean
from results.report.drawing.frame import at_seconds, fault_label
from results.report.limits import DisplayLimits
from results.report.reading.clients import RecordContext
from results.report.reading.leadership import known_ns
from results.report.reading.places import context_of, partition_of
from results.report.reading.readable import readable
from results.report.reading.words import answered_text, error_text, request_text, value_text
from results.run.causes import Cause
from results.run.observation import Claim, FaultSeen

_BEFORE_NS = 15_000_000_000
"""Events are listed from this time before the earliest operation of the witness."""
_WITNESS_MAX = 12
_TOLD = 190
"""Characters of a request or an answer."""
_PERMITS_MAX = 3
_REASON_MAX = 500
"""Characters of a sentence that says why no licence applies, whatever the limits of the page."""
_REMOVED = frozenset(("lost-write", "poll-skip", "int-poll-skip", "client-disagreement", "share-not-in-log"))
"""Anomalies that a removal of records may permit; only truncations permit the others."""
_OF_SHARES = {"share-phantom": False, "share-wrong-record": True, "share-not-in-log": True}
"""Anomalies of share groups about the log, and whether a loss of records may permit them."""
_DECIDED = "G1a"
"""An anomaly that a loss of records never permits; a lost decision of a transaction may permit it."""
_OF_VOTERS = ("add-voter", "remove-voter")
_Moment = tuple[int, str]


class ChronologyLine(msgspec.Struct, frozen=True):
    """An event as text, with its time; the time is empty if the text applies to the whole period."""

    time: str
    text: str


class Chronology:
    """Lists the events around the causes of one run.

    Args:
        history: the run's history.
        faults: the attempted faults.
        claims: answers of controllers, by node.
    """

    def __init__(
        self, history: History, faults: Sequence[FaultSeen] = (), claims: dict[str, list[Claim]] | None = None
    ) -> None:
        self._history, self._faults, self._claims = history, faults, claims or {}

    def around(self, cause: Cause, limits: DisplayLimits) -> tuple[ChronologyLine, ...]:
        """The events around a cause; empty if no operation of the witness has a time."""
        shown = cause.witness
        if shown is None or shown.anomaly.time_ns is None or not self._history.operations:
            return ()
        witness = self._operations(shown.anomaly.witness)
        until_ns = shown.anomaly.time_ns
        from_ns = max(min([until_ns, *(one.time_ns for one in witness)]) - _BEFORE_NS, 0)
        near = context_of(shown.anomaly, shown.checker)
        moments = [*self._faults_between(from_ns, until_ns), *(_witnessed(one, near) for one in witness)]
        place = partition_of(cause.place, shown.checker)
        if place is not None:
            moments += self._partition(place, from_ns, until_ns)
        elif QUORUM in {shown.checker, cause.place}:
            moments += self._quorum(from_ns, until_ns)
        moments.append((until_ns, f"Guarantee broken: {shown.anomaly.summary}"))
        moments.sort(key=lambda moment: moment[0])
        kept = [*moments[: limits.rows // 2], *moments[limits.rows // 2 :][-(limits.rows // 2) :]]
        lines = [ChronologyLine(at_seconds(time_ns), clean(text, limits.text)) for time_ns, text in kept]
        if len(kept) < len(moments):
            lines.insert(limits.rows // 2, ChronologyLine("", f"{len(moments) - len(kept):,} more events"))
        if place is not None and shown.checker in {"log", "share-groups"}:
            told = (*self._begun(place, cause), *self._unlicensed(place, cause, from_ns))
            lines += [ChronologyLine("", clean(text, max(limits.text, _REASON_MAX))) for text in told]
        return tuple(lines)

    def _operations(self, indices: Sequence[int]) -> list[Operation]:
        operations = self._history.operations
        return [operations[index] for index in indices[:_WITNESS_MAX] if 0 <= index < len(operations)]

    def _faults_between(self, from_ns: int, until_ns: int) -> Iterator[_Moment]:
        for fault in self._faults:
            if fault.invoked_ns > until_ns or (fault.healed_ns is not None and fault.healed_ns < from_ns):
                continue
            name = fault_label(fault)
            ended = "" if fault.healed_ns is None else f", in force until {at_seconds(fault.healed_ns)}"
            yield fault.invoked_ns, f"Fault {name} began{ended}."

    def _partition(self, place: PartitionName, from_ns: int, until_ns: int) -> Iterator[_Moment]:
        for election in self._elections:
            began_ns = election.request.from_ns
            if from_ns <= began_ns <= until_ns and (election.asked is None or place in election.asked):
                who = election.request.began.process
                code = election.codes.get(place)
                answer = "" if code is None else f" Kafka answered {named_code(code)}."
                yield began_ns, f"{who} asked for the {election.type} election of {place}.{answer}"
        for move in self._reassignments:
            if move.partition == place and from_ns <= move.request.from_ns <= until_ns:
                wanted = "to cancel the reassignment" if move.target is None else f"for {list(move.target)}"
                yield move.request.from_ns, f"{move.request.began.process} asked {wanted} of {place}."
        changes = self._changes
        if changes is not None and place in changes.states:
            yield from _states(changes, place, from_ns, until_ns)

    def _quorum(self, from_ns: int, until_ns: int) -> Iterator[_Moment]:
        """Requests for changes of voters, and when each controller began and ceased to answer as leader."""
        asked = [one for f in _OF_VOTERS for one in self._history.of(f) if from_ns <= one.time_ns <= until_ns]
        yield from (_witnessed(one, RecordContext()) for one in asked)
        for node, claims in sorted(self._claims.items()):
            before: int | None = None
            for claim in claims:
                if claim.epoch != before and claim.time_ns <= until_ns and from_ns <= claim.time_ns:
                    ceased = f"{node} no longer answered as leader of epoch {before}."
                    leads = f"{node} answered as leader of epoch {claim.epoch}."
                    yield claim.time_ns, ceased if claim.epoch is None else leads
                before = claim.epoch

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
                span_ns = (from_ns, cause.times_ns[1])
                removable = bool(covered & _REMOVED)
                what = "it" if len(covered) == len(kinds) else "the other anomalies"
                yield from _uncovered(permits, place, span_ns, what, removable=removable)

    @cached_property
    def _licences(self) -> Licences | None:
        return readable(partial(licences_of, self._history))

    @cached_property
    def _starts(self) -> dict[str, tuple[tuple[int, int], ...]]:
        return readable(partial(starts_of, self._history)) or {}

    @cached_property
    def _changes(self) -> PartitionChanges | None:
        return readable(partial(partition_changes, self._history))

    @cached_property
    def _elections(self) -> list[Election]:
        return readable(partial(elections_of, self._history)) or []

    @cached_property
    def _reassignments(self) -> list[Reassignment]:
        return readable(partial(reassignments_of, self._history)) or []


def _states(
    changes: PartitionChanges, place: PartitionName, from_ns: int, until_ns: int
) -> Iterator[_Moment]:
    """The state at the start, and the changes of each later state."""
    states = changes.states[place]
    times = [known_ns(changes.span(state)) for state in states]
    opening = max((at for at, time_ns in enumerate(times) if time_ns <= from_ns), default=0)
    if times[opening] <= until_ns:
        yield max(times[opening], from_ns), str(states[opening])
    for (_, before), (time_ns, after) in pairwise(zip(times[opening:], states[opening:], strict=True)):
        told = ", ".join(_changed(before, after))
        if told and from_ns <= time_ns <= until_ns:
            yield time_ns, f"{told[:1].upper()}{told[1:]} (offset {after.offset} of the metadata log)."


def _changed(before: PartitionState, after: PartitionState) -> Iterator[str]:
    if after.leader == NOBODY and before.leader != NOBODY:
        yield f"no broker led from epoch {after.leader_epoch} on"
    elif after.leader_epoch != before.leader_epoch:
        how = " uncleanly" if after.unclean else " from the ELR" if after.was_eligible else ""
        yield f"broker {after.leader} was chosen{how} as leader of epoch {after.leader_epoch}"
    for name, old, new in (
        ("ISR", before.isr, after.isr),
        ("ELR", before.elr, after.elr),
        ("replicas", before.replicas, after.replicas),
    ):
        if set(old) != set(new):
            yield f"{name} {list(old)} became {list(new)}"
    if after.moving != before.moving:
        yield f"a reassignment {'began' if after.moving else 'ended'}"


def _witnessed(operation: Operation, near: RecordContext) -> _Moment:
    """An operation of the witness, in the words of its request or of its answer."""
    who = f"client {operation.process}" if isinstance(operation.process, int) else operation.process
    if operation.type is OperationType.INVOKE:
        told = f"{who} began: {request_text(operation, near, _TOLD)}"
    elif operation.f == "observe":
        told = f"{operation.node or who} answered: {answered_text(operation, near, _TOLD)}"
    else:
        what = " ".join(filter(None, (operation.f, value_text(operation.key, 60))))
        answer = error_text(operation.error or "") or answered_text(operation, near, _TOLD)
        told = f"{who}, {what}, {operation.type.value}" + (f": {answer}" if answer else "")
    return operation.time_ns, f"{told} (operation {operation.index})"


def _uncovered(
    permits: Sequence[Permit], place: PartitionName, span_ns: tuple[int, int], what: str, *, removable: bool
) -> Iterator[str]:
    """Events that permit losses in the partition in that time, but not these losses."""
    from_ns, until_ns = span_ns
    timely = [
        one
        for one in permits
        if one.event.from_ns <= until_ns
        and one.event.to_ns >= from_ns
        and (removable or one.event.below is None)
    ]
    if not timely:
        yield f"No event from {at_seconds(from_ns)} to {at_seconds(until_ns)} permits {what}."
    for permit in timely[:_PERMITS_MAX]:
        yield f"This does not permit {what}: {permit.text}{_bounds(permit)}."
    if (left := len(timely) - _PERMITS_MAX) > 0:
        yield f"{left:,} more events permit losses in {place}, but not these."


def _bounds(permit: Permit) -> str:
    event = permit.event
    if event.above is not None:
        return f", losses from offset {event.above} on"
    return "" if event.below is None else f", losses below offset {event.below}"
