"""Markers of a compacted topic that a replica may have missed.

A cleaner removes a marker ``delete.retention.ms`` after it has removed the records of the transaction, also
if a replica that is out of sync did not fetch the marker yet (KIP-534; Kafka's
``CleanedTransactionMetadata``).
If that replica has the records, the transaction is open in its log until the next marker of its producer,
which then ends both.  If it leads later, read_committed readers stop at that transaction, or receive its
records although it was aborted, or do not receive them although it was committed, and its cleaner counts
them accordingly.

That needs a replica that was out of sync for longer than ``delete.retention.ms``, and a transaction that had
not ended long before that and began at least so long before the replica returned.  A replica counts as in
sync for up to ``replica.lag.time.max.ms`` after its last fetch.  Readers are affected only if it led later.

A coordinator answers a commit or an abort before it writes the markers, and it aborts a transaction that was
given up only after its timeout.  All markers are in the logs when the transactional id is initialised next,
or when a record of its next transaction is acknowledged: until then it gets CONCURRENT_TRANSACTIONS.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, Columns, Integers, PartitionName
from checkers.evidence.loading import all_columns_of, kept_ns_of
from checkers.evidence.partition_changes import PartitionChanges, PartitionState, partition_changes
from checkers.history.operations import INVOKE, OK, History, Operation, once
from checkers.history.setup import COMPACT, recorded_setup
from checkers.history.transactions import sends_of
from checkers.history.units import NS_PER_MS
from checkers.licences.permits import Decisions, no_decisions

MISSED = "delete.retention.ms: a replica may have missed the marker of a transaction (KIP-534)"
"""The beginning of these licences."""
_LAG = "replica.lag.time.max.ms"
_LAG_MS = 30_000
_OFFSET = 4
"""Place of the offset in a record that a transaction sent."""
_NO_TIMES: Integers = np.zeros(0, np.int64)


class Absence(NamedTuple):
    """A time in which a replica was out of sync.

    Attributes:
        node: the broker's id.
        from_ns: not before this time.
        to_ns: not after this time.
        led: whether it led later.
    """

    node: int
    from_ns: int
    to_ns: int
    led: bool


class MissedMarkers(NamedTuple):
    """Transactions in one partition of a compacted topic with a marker that a replica may have missed.

    Attributes:
        leaders: those whose marker a later leader may have missed.
        replicas: those whose marker any replica may have missed.
    """

    leaders: Decisions
    replicas: Decisions


@once
def missed_markers(history: History) -> Mapping[PartitionName, MissedMarkers]:
    """Find these transactions; partitions without any are left out.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    setup = recorded_setup(history)
    kept_ns = {topic.name: kept_ns_of(topic) for topic in setup.topics if COMPACT in topic.cleanup}
    if not kept_ns or not history.of("txn"):
        return {}
    changes, columns = partition_changes(history), all_columns_of(history)
    text = str(setup.config.get(_LAG, ""))
    lag_ns = (int(text) if text.isdigit() else _LAG_MS) * NS_PER_MS
    ended_ns = _ended_ns(history, columns)
    found: dict[PartitionName, MissedMarkers] = {}
    compacted = [(code, name) for code, name in enumerate(columns.partitions) if name.topic in kept_ns]
    for code, name in compacted:
        absences = list(_absences(changes, name, kept_ns[name.topic]))
        bounds = kept_ns[name.topic], lag_ns
        led = [absence for absence in absences if absence.led]
        missed = MissedMarkers(*(_missed(columns, code, ended_ns, some, bounds) for some in (led, absences)))
        if len(missed.replicas.operation):
            found[name] = missed
    return found


def _ended_ns(history: History, columns: Columns) -> Integers:
    """When the markers of each send's transaction were written at the latest; `NEVER` if that is unknown."""
    sends = columns.sends
    shown = _shown(history)
    ended = np.full(len(sends.partition), NEVER)
    keys = [history.operations[op].key for op in sends.invoke_op[sends.transactional].tolist()]
    for row, key in zip(np.flatnonzero(sends.transactional).tolist(), keys, strict=True):
        began, known = shown.get(key, (_NO_TIMES, _NO_TIMES))
        ended[row] = known[np.searchsorted(began, sends.completed_ns[row])] if len(began) else NEVER
    return ended


def _shown(history: History) -> dict[object, tuple[Integers, Integers]]:
    """Times at which the earlier transactions of each transactional id had certainly ended.

    The first times are those of the invocations, ascending; all transactions that completed before have ended
    at the second times, of which there is one more, `NEVER`.
    """
    began_ns: dict[int | str, int] = {}
    found: dict[object, list[tuple[int, int]]] = {}
    calls = (*history.of("init-transactions"), *history.of("txn"))
    for operation in sorted(calls, key=lambda each: each.index):
        if operation.type is INVOKE:
            began_ns[operation.process] = operation.time_ns
        elif operation.process in began_ns:
            began = began_ns.pop(operation.process)
            if operation.type is OK if operation.f == "init-transactions" else _has_offset(operation):
                found.setdefault(operation.key, []).append((began, operation.time_ns))
    times = {}
    for key, pairs in found.items():
        began, ended = np.array(sorted(pairs), np.int64).T
        least = np.minimum.accumulate(np.append(ended, NEVER)[::-1])[::-1]
        times[key] = (began, least)
    return times


def _has_offset(operation: Operation) -> bool:
    """Whether any record of a transaction that completed was acknowledged with its offset."""
    return operation.value is not None and any(
        len(send) > _OFFSET and send[_OFFSET] is not None for send in sends_of(operation)
    )


def _missed(
    columns: Columns, code: int, ended_ns: Integers, absences: Sequence[Absence], bounds: tuple[int, int]
) -> Decisions:
    """The transactions with records in a partition whose markers may have been missed in some absences."""
    kept_ns, lag_ns = bounds
    sends, name = columns.sends, columns.partitions[code]
    rows = np.flatnonzero(sends.transactional & (sends.partition == code))
    chosen = [
        rows[
            (sends.invoked_ns[rows] <= absence.to_ns - kept_ns) & (ended_ns[rows] >= absence.from_ns - lag_ns)
        ]
        for absence in absences
    ]
    if not chosen:
        return no_decisions()
    operation, first = np.unique(sends.invoke_op[np.concatenate(chosen)], return_index=True)
    licence = np.repeat(np.arange(len(chosen)), [len(some) for some in chosen])[first]
    texts = tuple(f"{MISSED}: broker {absence.node} was out of sync in {name}" for absence in absences)
    return Decisions(operation, licence, texts)


def _absences(changes: PartitionChanges, name: PartitionName, kept_ns: int) -> Iterator[Absence]:
    """Times out of sync of at least so long."""
    states = changes.states.get(name, ())
    left_ns: dict[int, int] = {}
    for number, state in enumerate(states):
        span = changes.span(state)
        for node in state.replicas:
            if node not in state.isr:
                left_ns.setdefault(node, span.from_ns)
            elif node in left_ns:
                absence = Absence(node, left_ns.pop(node), span.to_ns, _leads(node, states[number:]))
                if absence.to_ns - absence.from_ns >= kept_ns:
                    yield absence


def _leads(node: int, states: Sequence[PartitionState]) -> bool:
    return any(state.leader == node for state in states)
