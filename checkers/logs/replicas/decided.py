"""Judges markers on disk against the decisions in the log of their coordinators, ``__transaction_state``.

A coordinator writes a transaction's decision (PrepareCommit or PrepareAbort) to its log, with the producer's
id and epoch.  Once all in-sync replicas have it, the coordinator has markers with this id and epoch written
to all partitions of the transaction.  Once all in-sync replicas of these have the markers, it writes
CompleteCommit or CompleteAbort (KIP-98; ``TransactionMarkerChannelManager``).  It follows that

1. each marker has a decision of its kind, id and epoch: ``marker-without-decision``;
2. each partition of a completed transaction has its marker: ``completed-without-marker``.

Both are judged as far as the logs of ``__transaction_state`` have all records (`coordinated`).  They are read
after the replicas, so no decision is missing that a marker in them needs.  For finding 2, a decision and its
completion count if no record is missing between them, up to the end that the same log had before the replicas
were read.

Left out are abort markers of producers for which an administrator requested some, damaged logs, and for
finding 2 logs that may have been truncated, that have gaps, or that do not begin at offset 0.  Duplicates of
a marker are normal.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Integers, PartitionName
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.replicas import ABORT, COMMIT, Batches, ReplicaLog
from checkers.evidence.transaction_states import StatesLog
from checkers.history.operations import History
from checkers.history.transaction_states import Status
from checkers.logs.replicas.anomalies import COMPLETED_WITHOUT_MARKER, MARKER_WITHOUT_DECISION
from checkers.logs.replicas.client_results import never_truncated
from checkers.logs.replicas.coordinated import CoordinatorLogs, Pieces
from checkers.logs.replicas.limits import Limits
from checkers.logs.replicas.single_log import batch_text
from checkers.logs.replicas.transaction_epochs import aborted_by_hand, is_whole
from checkers.verdict.verdict import Anomaly

_KINDS, _EPOCHS = 2, 2**16
_ENDS = {ABORT: "abort", COMMIT: "commit"}
_DECISIONS = {Status.PREPARE_COMMIT.value: COMMIT, Status.PREPARE_ABORT.value: ABORT}
_COMPLETIONS = {Status.COMPLETE_COMMIT.value: COMMIT, Status.COMPLETE_ABORT.value: ABORT}


class Decision(NamedTuple):
    """A decision that was carried out, by the records of its coordinator's log.

    Attributes:
        log: number of the partition of the log.
        offset: offset of the decision.
        completed: offset of its completion.
        name: the transactional id.
        producer: producer id.
        epoch: the epoch of its markers.
        end: type of its markers, `ABORT` or `COMMIT`.
        partitions: place of its partitions in the log's list of sets, -1 for none.
    """

    log: int
    offset: int
    completed: int
    name: str
    producer: int
    epoch: int
    end: int
    partitions: int


def find_against_decisions(
    history: History,
    batches: Batches,
    judged: Mapping[PartitionName, ReplicaLog],
    limits: Limits,
    figures: Counter[str],
) -> Iterator[Anomaly]:
    """Find markers without a decision, and completed transactions without a marker.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        batches: all replicas' logs.
        judged: for each judged partition, the log of one in-sync replica; compacted partitions are left out.
        limits: topics from which records may be removed.
        figures: counts the markers and the completed parts of transactions that are compared.

    Raises:
        msgspec.ValidationError, ValueError: an operation is not as docs/histories.md says.
    """
    logs = CoordinatorLogs(history)
    known = logs.known
    decided = np.concatenate([np.empty(0, dtype=np.int64), *(_decided(log) for log in known.values())])
    by_hand = aborted_by_hand(history)
    reported: set[tuple[PartitionName, int]] = set()
    for log in batches.logs:
        if log.readable and not log.seen.corrupt:
            rows = _markers(log, by_hand)
            missing = _missing(log, rows[~np.isin(_keys(log, rows), decided)], logs)
            figures["markers_with_states"] += int(np.isin(_keys(log, rows), decided).sum()) + len(missing)
            for row in missing:
                place = (log.partition, int(log["base_offset"][row]))
                if place not in reported:
                    reported.add(place)
                    yield _undecided(log, row, known)
    yield from _unmarked(history, logs, _from_the_start(history, judged, limits), figures)


def _missing(log: ReplicaLog, rows: Integers, logs: CoordinatorLogs) -> list[int]:
    """Rows of markers whose decision must be in the coordinators' logs."""
    producers = zip(
        rows.tolist(), log["producer_id"][rows].tolist(), log["producer_epoch"][rows].tolist(), strict=True
    )
    return [row for row, producer, epoch in producers if logs.has_decision(producer, epoch)]


def _decided(log: StatesLog) -> Integers:
    """Keys of all decisions in a log, as `_key` makes them."""
    columns = log.records
    status = columns["status"].astype(np.int64)
    rows = np.flatnonzero(np.isin(status, list(_DECISIONS)))
    ends = np.where(status[rows] == Status.PREPARE_COMMIT, COMMIT, ABORT)
    return _key(
        columns["producer_id"][rows].astype(np.int64), columns["producer_epoch"][rows].astype(np.int64), ends
    )


def _key(producer: Integers, epoch: Integers, end: Integers) -> Integers:
    """Numbers that are equal if producer id, epoch and type are."""
    return (producer * _EPOCHS + epoch) * _KINDS + end


def _keys(log: ReplicaLog, rows: Integers) -> Integers:
    return _key(log["producer_id"][rows], log["producer_epoch"][rows], log["control"][rows])


def _markers(log: ReplicaLog, by_hand: Integers) -> Integers:
    """Rows of the markers of a log, without aborts that an administrator may have requested."""
    control = log["control"]
    aborts = (control == ABORT) & ~np.isin(log["producer_id"], by_hand)
    return np.flatnonzero(log.transactional & ((control == COMMIT) | aborts))


def _undecided(log: ReplicaLog, row: int, known: Mapping[int, StatesLog]) -> Anomaly:
    producer, epoch = int(log["producer_id"][row]), int(log["producer_epoch"][row])
    end, offset = _ENDS[int(log["control"][row])], int(log["base_offset"][row])
    article = "a" if end == "commit" else "an"
    about = {
        states.op: line
        for number, states in sorted(known.items())
        if (line := _last_of(number, states, producer)) is not None
    }
    return MARKER_WITHOUT_DECISION.found(
        f"{log.partition} has {article} {end} marker of producer {producer} in epoch {epoch} at {offset}, "
        "and no coordinator has decided so",
        subject=f"{log.partition}@{offset}",
        time_ns=log.time_ns,
        witness=sorted({log.op, *(about or (states.op for states in known.values()))}),
        explanation=(
            batch_text(log, row),
            *(about.values() or ["No coordinator's log has a decision of that producer."]),
            "No record is missing where the coordinators' logs must have it.",
        ),
    )


def _last_of(number: int, log: StatesLog, producer: int) -> str | None:
    """The last decisions of a producer in a log, as a sentence; None if it has none."""
    columns = log.records
    rows = np.flatnonzero((columns["producer_id"] == producer) & np.isin(columns["status"], list(_DECISIONS)))
    if not len(rows):
        return None
    decisions = ", ".join(
        f"{_ENDS[_DECISIONS[int(columns['status'][row])]]} in epoch {int(columns['producer_epoch'][row])} "
        f"(offset {int(columns['offset'][row])})"
        for row in rows[-3:].tolist()
    )
    return f"The last decisions of that producer in {TRANSACTIONS_TOPIC}-{number} are: {decisions}."


def _from_the_start(
    history: History, judged: Mapping[PartitionName, ReplicaLog], limits: Limits
) -> dict[PartitionName, ReplicaLog]:
    """The logs that have everything that was ever appended to their partitions."""
    if limits.forgetting:
        return {}
    return {
        name: log
        for name, log in never_truncated(history, judged).items()
        if log.node not in limits.unsynced and len(log) and not log["base_offset"][0] and is_whole(log)
    }


def _unmarked(
    history: History,
    coordinators: CoordinatorLogs,
    logs: Mapping[PartitionName, ReplicaLog],
    figures: Counter[str],
) -> Iterator[Anomaly]:
    nobody = np.empty(0, dtype=np.int64)
    marked = {name: frozenset(_keys(log, _markers(log, nobody)).tolist()) for name, log in logs.items()}
    states = partition_changes(history).states
    for number, states_log in sorted(coordinators.known.items()):
        pieces = coordinators.pieces(number)
        for one in () if pieces is None else completed(number, states_log, pieces):
            topics = states_log.seen.sets[one.partitions] if one.partitions != NONE else {}
            for name in sorted(PartitionName(topic, each) for topic, some in topics.items() for each in some):
                if name in logs and name in states:
                    figures["completed_parts"] += 1
                    key = (one.producer * _EPOCHS + one.epoch) * _KINDS + one.end
                    if key not in marked[name]:
                        yield _without_marker(one, states_log, logs[name])


def completed(number: int, log: StatesLog, pieces: Pieces) -> Iterator[Decision]:
    """Decisions that were carried out before replicas were read, in the order of their completion.

    No record is missing between a decision and its completion.
    A decision may be written repeatedly.  It is the last one with the producer of its completion, or with the
    one that it announced as the next producer (KIP-890).
    """
    names = ("id", "status", "producer_id", "producer_epoch", "next_producer_id", "partitions", "offset")
    prepared: dict[tuple[int, int], dict[tuple[int, int], Decision]] = {}
    rows = zip(pieces.of_records.tolist(), *(log.records[name].tolist() for name in names), strict=True)
    current = 0
    for piece, name, status, producer, epoch, following, partitions, offset in rows:
        if piece != current:
            prepared.clear()
            current = piece
        if status in _DECISIONS:
            end = _DECISIONS[status]
            latest = Decision(number, offset, NONE, log.seen.ids[name], producer, epoch, end, partitions)
            by_completion = (producer, epoch) if following < 0 else (following, 0)
            prepared.setdefault((name, end), {})[by_completion] = latest
        elif status in _COMPLETIONS and offset < (log.seen.settled or 0):
            decision = prepared.pop((name, _COMPLETIONS[status]), {}).get((producer, epoch))
            if decision is not None:
                yield decision._replace(completed=offset)


def _without_marker(one: Decision, states: StatesLog, log: ReplicaLog) -> Anomaly:
    end = _ENDS[one.end]
    place = f"{TRANSACTIONS_TOPIC}-{one.log}"
    last = f"has all batches from offset 0 to {log.end}, and none of them is that marker."
    return COMPLETED_WITHOUT_MARKER.found(
        f"the {end} of {one.name}'s transaction, by producer {one.producer} in epoch {one.epoch}, was "
        f"completed ({place}@{one.completed}), and {log.partition} has no {end} marker of it",
        subject=f"{one.name} {log.partition}",
        time_ns=log.time_ns,
        witness=sorted({log.op, states.op}),
        explanation=(
            f"{place} has the decision, with {log.partition}, at {one.offset}.",
            f"It has its completion at {one.completed}.",
            f"The log of {log.partition} on {log.node} {last}",
        ),
    )
