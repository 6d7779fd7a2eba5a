"""Judges deletions of records: records that were deleted on request are not returned again (KIP-107).

DeleteRecords is answered when all live replicas have moved the starts of their logs, and a follower takes
over the leader's start when it fetches.  So the log of a later leader that was elected cleanly starts at that
offset or above.  A broker whose process was killed uses the start that it had last written to its disk, until
it has fetched again.  With eligible leader replicas (KIP-966) a broker that was not alive at the answer may
lead before it fetches.

A consumer may return records that its client had fetched before.  So only assignments that began after the
answer count.  While a fault is in force, or a leader is new, an older leader may still answer consumers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE, Columns, Integers, PartitionName
from checkers.evidence.administration import requests_of
from checkers.evidence.faults import FaultWindow
from checkers.evidence.loading import all_columns_of
from checkers.history.observed import NODE, NodeSeen
from checkers.history.operations import INVOKE, OK, History
from checkers.licences import licences_of
from checkers.licences.facts import Facts
from checkers.logs.replicas.anomalies import DELETED_RECORDS_RETURNED
from checkers.verdict.verdict import Anomaly

CLEAN_CODES = frozenset({0, 143})
"""Exit codes of a process that ended by itself or on SIGTERM, and so wrote the starts of its logs."""
MARGIN_NS = 2_000_000_000
"""How long before a request a replica must have been in sync, under one leader, to have moved its start."""
_SETTLING_NS = 30_000_000_000
"""How long after a fault, or an election, a broker may be outdated; three session timeouts."""


class RecordsDeletion(NamedTuple):
    """A deletion that was acknowledged.

    Attributes:
        where: its partition.
        below: records below this offset were deleted.
        from_ns: when it was requested.
        to_ns: when it was acknowledged.
        operations: indices of its operations.
    """

    where: PartitionName
    below: int
    from_ns: int
    to_ns: int
    operations: tuple[int, ...]

    @property
    def texts(self) -> tuple[str, str]:
        """Who requested it and when it was acknowledged, as text for explanations."""
        asked, answered = self.operations
        return (
            f"Operation {asked} asked to delete all records of {self.where} below {self.below}.",
            f"It was acknowledged at {self.to_ns / 1e9:.3f} s (operation {answered}).",
        )


class _Return(NamedTuple):
    """A call that returned deleted records: the first offset, the time, and the operations."""

    offset: int
    time_ns: int
    operations: tuple[int, ...]
    text: str


def find_returned(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """At most one finding for the final reads of each partition, and one for its polls.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        figures: counts the deletions, and those after which nothing permits that records return.
    """
    deletions = deletions_of(history)
    removed = {operation.key for operation in history.of("delete-topic")}
    if deletions:
        licensing = Licensing(history)
        columns = all_columns_of(history)
        begun_ns = _begun(history, columns)
        for code, where in enumerate(columns.partitions):
            of_it = [] if where.topic in removed else deletions.get(where, [])
            figures["deletions"] += len(of_it)
            figures["deletions_judged"] += sum(licensing.of_start(each) is None for each in of_it)
            if of_it:
                yield from _in_final_reads(columns, code, of_it, licensing)
                yield from _in_polls(columns, code, of_it, licensing, begun_ns)


def deletions_of(history: History) -> dict[PartitionName, list[RecordsDeletion]]:
    """All acknowledged deletions by partition, those with the largest offset first."""
    found: dict[PartitionName, list[RecordsDeletion]] = {}
    for request in requests_of(history, "delete-records"):
        if request.ended is not None and request.ended.type is OK:
            for number, below in request.began.value:
                where = PartitionName(request.began.key, number)
                deletion = RecordsDeletion(
                    where, below, request.from_ns, request.ended.time_ns, request.operations
                )
                found.setdefault(where, []).append(deletion)
    return {where: sorted(some, key=lambda each: -each.below) for where, some in found.items()}


class Licensing:
    """Finds events that permit the return of deleted records."""

    def __init__(self, history: History) -> None:
        self._facts = Facts(history)
        self._history = history
        self._starts: dict[RecordsDeletion, str | None] = {}

    def of_start(self, deletion: RecordsDeletion) -> str | None:
        """What permits that a log starts below the offset of a deletion; None if nothing does."""
        if deletion not in self._starts:
            self._starts[deletion] = (
                self.truncated(deletion)
                or self._killed(deletion)
                or self._died(deletion)
                or self._not_alive(deletion)
            )
        return self._starts[deletion]

    def of_poll(self, deletion: RecordsDeletion, until_ns: int) -> str | None:
        """What permits that a consumer receives a deleted record until some time."""
        return (
            self.of_start(deletion) or self._disturbed(deletion, until_ns) or self._moved(deletion, until_ns)
        )

    def truncated(self, deletion: RecordsDeletion) -> str | None:
        """An event that lets an out-of-sync or wiped replica lead; None if there is none."""
        for permit in licences_of(self._history).of(deletion.where):
            event = permit.event
            if permit.covers_returned and event.below is None and event.to_ns >= deletion.from_ns:
                return permit.text
        return None

    def _killed(self, deletion: RecordsDeletion) -> str | None:
        """A process that was killed, unless its broker certainly fetched before it led."""
        for window in self._facts.windows:
            if (window.may_kill or window.hits_disks) and window.end_ns >= deletion.from_ns:
                for name, number in self._replicas(deletion.where):
                    if window.concerns(name) and not self._fetched(deletion.where, number, window):
                        return f"{window.kind} of {name} ({window.id}): {_CHECKPOINT}"
        return None

    def _fetched(self, where: PartitionName, broker: int, window: FaultWindow) -> bool:
        """Whether a killed broker left the ISR, and did not lead before a leader had added it again."""
        changes = self._facts.changes
        if not _only_kills(window) or window.heal_invoked_ns is None or not changes.is_complete(where, NEVER):
            return False
        left = False
        for state in changes.possible(where, window.invoked_ns, NEVER):
            left = left or broker not in state.isr
            if left and state.leader == broker:
                return False
            if left and broker in state.isr and changes.span(state).from_ns >= window.heal_invoked_ns:
                return True
        return left

    def _died(self, deletion: RecordsDeletion) -> str | None:
        """A process that ended unexpectedly, other than by a kill."""
        names = [name for name, _ in self._replicas(deletion.where)]
        kills = [window for window in self._facts.windows if _only_kills(window)]
        for operation, seen in self._history.seen(NODE, NodeSeen):
            node, time_ns = operation.node, operation.time_ns
            ended = seen.exited and seen.exit_code not in CLEAN_CODES
            planned = any(node in kill.targets and kill.overlaps(time_ns, time_ns) for kill in kills)
            if ended and not planned and time_ns >= deletion.from_ns and node in names:
                return f"{node} ended with exit code {seen.exit_code}: {_CHECKPOINT}"
        return None

    def _not_alive(self, deletion: RecordsDeletion) -> str | None:
        """Whether an eligible replica may not have been alive at the answer."""
        changes, where = self._facts.changes, deletion.where
        if not self._facts.eligible_replicas:
            return None
        if changes.is_complete(where, deletion.to_ns):
            states = changes.possible(where, deletion.from_ns, deletion.to_ns)
            if all(set(state.isr) == set(state.replicas) for state in states):
                return None
        return (
            f"not all replicas of {where} were in sync: a replica in the ELR need not have moved "
            "its log start offset"
        )

    def _disturbed(self, deletion: RecordsDeletion, until_ns: int) -> str | None:
        fault = self._fault(deletion.from_ns, until_ns)
        return fault and f"{fault}; an older leader may answer consumers"

    def _moved(self, deletion: RecordsDeletion, until_ns: int) -> str | None:
        """Whether the partition may have had several leaders since a time before a deletion."""
        changes, where = self._facts.changes, deletion.where
        if changes.is_complete(where, until_ns):
            states = changes.possible(where, deletion.from_ns - _SETTLING_NS, until_ns)
            if len({state.leader for state in states}) == 1:
                return None
        return f"{where} may have had several leaders; an older leader may answer consumers"

    def _fault(self, from_ns: int, to_ns: int) -> str | None:
        windows = self._facts.windows
        return next(
            (f"{each.kind} ({each.id})" for each in windows if each.overlaps(from_ns - _SETTLING_NS, to_ns)),
            None,
        )

    def _replicas(self, where: PartitionName) -> list[tuple[str, int]]:
        """Names and ids of all nodes that ever had a replica, or of all nodes if that is not recorded."""
        states = self._facts.changes.states.get(where, ())
        numbers = {number for state in states for number in state.replicas}
        return [(name, number) for name, number in self._facts.ids.items() if not states or number in numbers]


def _only_kills(window: FaultWindow) -> bool:
    """Whether a fault may kill processes without removing the data that they had written."""
    return window.may_kill and not window.hits_disks


_CHECKPOINT = (
    "a broker writes its log start offsets to disk only at intervals, so it may have "
    "started with an older one"
)


def _in_final_reads(
    columns: Columns, code: int, deletions: Sequence[RecordsDeletion], licensing: Licensing
) -> Iterator[Anomaly]:
    finals, calls = columns.final_reads, columns.calls
    rows = np.flatnonzero((finals.partition == code) & (finals.start < deletions[0].below))
    shown = []
    for row in rows.tolist():
        call, start, listed_ns = int(finals.call[row]), int(finals.start[row]), int(finals.listed_ns[row])
        text = f"a final read by {columns.readers[int(calls.reader[call])]} listed that it begins at {start}"
        returned = _Return(start, int(calls.completed_ns[call]), (int(calls.op[call]),), text)
        shown += [
            _Contradiction(each, returned, licensing.of_start(each))
            for each in deletions
            if each.to_ns < listed_ns and each.below > start
        ]
    yield from _worst(shown)


def _in_polls(
    columns: Columns,
    code: int,
    deletions: Sequence[RecordsDeletion],
    licensing: Licensing,
    begun_ns: Integers,
) -> Iterator[Anomaly]:
    reads, calls = columns.reads, columns.calls
    since_ns = begun_ns[np.maximum(calls.assignment, NONE)]
    first_ns = min(each.to_ns for each in deletions)
    old = (reads.partition == code) & (reads.offset < deletions[0].below)
    rows = np.flatnonzero(old & (since_ns[reads.call] > first_ns))
    _, first = np.unique(reads.call[rows], return_index=True)
    shown = []
    for row in rows[first].tolist():
        call, offset = int(reads.call[row]), int(reads.offset[row])
        text = f"a consumer that was assigned it afterwards received the record at {offset}"
        returned = _Return(offset, int(calls.completed_ns[call]), (int(calls.op[call]),), text)
        shown += [
            _Contradiction(each, returned, licensing.of_poll(each, returned.time_ns))
            for each in deletions
            if each.to_ns < since_ns[call] and each.below > offset
        ]
    yield from _worst(shown)


def _begun(history: History, columns: Columns) -> Integers:
    """When each assignment was requested, by its number; `NONE` for all others, and in the last row."""
    invoked: dict[int | str, int] = {}
    times: dict[int, int] = {}
    for operation in history.of("assign"):
        if operation.type is INVOKE:
            invoked[operation.process] = operation.time_ns
        else:
            times[operation.index] = invoked[operation.process]
    assigns = columns.assigns
    last = max(assigns.assignment.max(initial=0), columns.calls.assignment.max(initial=0))
    found = np.full(int(last) + 2, NONE, dtype=np.int64)
    found[assigns.assignment] = [times.get(op, NONE) for op in assigns.op.tolist()]
    return found


class _Contradiction(NamedTuple):
    """A deletion, a return of records that it deleted, and what permits that."""

    deletion: RecordsDeletion
    returned: _Return
    licence: str | None


def _worst(shown: Sequence[_Contradiction]) -> Iterator[Anomaly]:
    """The first return that nothing permits; otherwise the first one."""
    worst = next((each for each in shown if each.licence is None), None) or next(iter(shown), None)
    if worst is not None:
        yield _found(*worst)


def _found(deletion: RecordsDeletion, returned: _Return, licence: str | None) -> Anomaly:
    where, below = deletion.where, deletion.below
    found = DELETED_RECORDS_RETURNED.found(
        f"the records of {where} below {below} had been deleted, but {returned.text}",
        subject=f"{where}@{returned.offset}",
        time_ns=returned.time_ns,
        witness=(*deletion.operations, *returned.operations),
        explanation=(
            *deletion.texts,
            "By then all live replicas had moved their log start offsets.",
            f"After that {returned.text} (operation {returned.operations[0]}).",
            *(
                ()
                if licence
                else ("Since then no broker lost its log start offset, and there was no unclean election.",)
            ),
        ),
    )
    return msgspec.structs.replace(found, illegal=licence is None, licence=licence)
