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
from checkers.evidence.partition_changes import NOBODY, PartitionChanges, PartitionState, partition_changes
from checkers.history.error_codes import named_code
from checkers.history.operations import History, Operation, OperationType
from checkers.verdict.places import QUORUM
from results.markup.cleaning import clean
from results.report.reading.anomaly_places import context_of
from results.report.reading.client_words import RecordContext
from results.report.reading.leadership import known_ns
from results.report.reading.words import answered_text, error_text, request_text, value_text
from results.report.size_limits import DisplayLimits
from results.run.anomaly_partitions import partition_of
from results.run.causes import Cause
from results.run.circumstances import Circumstances, Period
from results.run.observation import Claim, FaultSeen
from results.run.readable import readable
from results.run.text import at_seconds

_TEXT_MAX = 190
"""Characters of a request or an answer."""
_REASON_MAX = 500
"""Characters of a sentence that says why no licence applies, whatever the limits of the page."""
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
        licensed: whether the history records the events that permit losses.
    """

    def __init__(
        self,
        history: History,
        faults: Sequence[FaultSeen] = (),
        claims: dict[str, list[Claim]] | None = None,
        *,
        licensed: bool = True,
    ) -> None:
        self._history, self._claims, self._licensed = history, claims or {}, licensed
        self._circumstances = Circumstances(history, faults)

    def around(self, cause: Cause, limits: DisplayLimits) -> tuple[ChronologyLine, ...]:
        """The events around a cause; empty if no operation of the witness has a time."""
        shown, period = cause.witness, self._circumstances.period(cause)
        if shown is None or period is None:
            return ()
        from_ns, until_ns = period.from_ns, period.until_ns
        near = context_of(shown.anomaly, shown.checker)
        moments = [*self._faults_in(period)]
        moments += (_witnessed(one, near) for one in self._circumstances.witness(cause))
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
        reasons = self._circumstances.reasons(cause, period) if self._licensed else ()
        lines += [ChronologyLine("", clean(text, max(limits.text, _REASON_MAX))) for text in reasons]
        return tuple(lines)

    def _faults_in(self, period: Period) -> Iterator[_Moment]:
        for fault in self._circumstances.faults(period):
            ended = "" if fault.healed_ns is None else f", in force until {at_seconds(fault.healed_ns)}"
            yield fault.invoked_ns, f"Fault {fault.label} began{ended}."

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
        text = ", ".join(_changed(before, after))
        if text and from_ns <= time_ns <= until_ns:
            yield time_ns, f"{text[:1].upper()}{text[1:]} (offset {after.offset} of the metadata log)."


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
        text = f"{who} began: {request_text(operation, near, _TEXT_MAX)}"
    elif operation.f == "observe":
        text = f"{operation.node or who} answered: {answered_text(operation, near, _TEXT_MAX)}"
    else:
        what = " ".join(filter(None, (operation.f, value_text(operation.key, 60))))
        answer = error_text(operation.error or "") or answered_text(operation, near, _TEXT_MAX)
        text = f"{who}, {what}, {operation.type.value}" + (f": {answer}" if answer else "")
    return operation.time_ns, f"{text} (operation {operation.index})"
