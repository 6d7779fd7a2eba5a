"""Transactions that read_committed readers see only partly, and partitions that open transactions block."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers, SendOutcome
from checkers.evidence.replicas import ReplicaLog, batches_of
from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.licences import first_permit, licences_of
from checkers.licences.permits import Permit
from checkers.logs.replicas.markers import markers_of
from checkers.transactional.transactions.kafka.edges import KafkaStory
from checkers.transactional.transactions.kafka.records import READ_COMMITTED, KafkaTransactions
from checkers.transactional.transactions.models.anomalies import ANOMALIES
from checkers.transactional.transactions.proofs.judging import NAME_CHARACTERS
from checkers.verdict.verdict import Anomaly


class Missing(NamedTuple):
    """Records that no read_committed reader received although a complete final read covers them.

    Attributes:
        send: row of `Columns.sends`.
        final: row of `Columns.final_reads` that covers it.
    """

    send: Integers
    final: Integers


def torn_transactions(kafka: KafkaTransactions, story: KafkaStory, history: History) -> Iterator[Anomaly]:
    """Transactions of which read_committed readers see only a part of the records.

    A record counts as missing if it was certainly in the log: it was acknowledged, or its transaction was. A
    truncation may have removed the record, or the marker that had ended the transaction in either partition.
    In that case the transaction is open there, and the producer's next marker ends it.
    """
    sends = kafka.columns.sends
    missing = missing_records(kafka)
    part = sends.transactional & np.isin(sends.outcome, (SendOutcome.OK, SendOutcome.INFO))
    seen = np.unique(kafka.node_of_send[part & kafka.seen])
    rows = np.flatnonzero(part[missing.send] & np.isin(kafka.node_of_send[missing.send], seen))
    nodes, first = np.unique(kafka.node_of_send[missing.send[rows]], return_index=True)
    for node, row in zip(nodes.tolist(), rows[first].tolist(), strict=True):
        lost = int(missing.send[row])
        shown = int(np.flatnonzero((kafka.node_of_send == node) & kafka.seen)[0])
        parts = _Torn(node, shown, lost, int(missing.final[row]))
        yield _torn(kafka, story, parts, history)


class _Torn(NamedTuple):
    """A transaction, one of its sends that is visible, one that is not, and the final read without that."""

    node: int
    shown: int
    lost: int
    final: int


def _torn(kafka: KafkaTransactions, story: KafkaStory, parts: _Torn, history: History) -> Anomaly:
    node, shown, lost, final = parts
    columns, sends = kafka.columns, kafka.columns.sends
    names = [_named(kafka, row) for row in (shown, lost)]
    call = int(columns.final_reads.call[final])
    ended = columns.calls.completed_ns[call : call + 1]
    partition = kafka.partition(int(sends.partition[lost]))
    kind = ANOMALIES["torn-transaction"]
    reached = int(columns.final_reads.position[final])
    text = f"{names[0]} is visible at read_committed, but {names[1]} of the same transaction is not"
    anomaly = kind.found(
        text,
        subject=str(partition),
        time_ns=int(ended[0]),
        witness=(*story.operations(node), int(columns.calls.op[call])),
        explanation=(
            f"T = {story.transaction(node)[:NAME_CHARACTERS]}",
            f"A reader at read_committed received {names[0]}.",
            f"A final read of {partition} read to offset {reached} without {names[1]}.",
        ),
    )
    permit = next(_permits(kafka, history, (lost, shown), ended), None)
    return anomaly if permit is None else msgspec.structs.replace(anomaly, illegal=False, licence=permit.text)


def _permits(
    kafka: KafkaTransactions, history: History, parts: tuple[int, int], ended: Integers
) -> Iterator[Permit]:
    """The permits for the loss of the first of two records, or of either record's marker."""
    licences, sends = licences_of(history), kafka.columns.sends
    lost = parts[0]
    places = [(lost, int(kafka.offset[lost])), *((row, _marker(kafka, history, row)) for row in parts)]
    for row, place in places:
        permits = licences.of(kafka.partition(int(sends.partition[row])))
        since, known = sends.invoked_ns[row : row + 1], sends.completed_ns[row : row + 1]
        given, offset = np.zeros(1, dtype=np.bool_), np.array([place])
        found = first_permit(permits, since, ended, given, offset, known_ns=known)
        if found[0] != NONE:
            yield permits[int(found[0])]


def _marker(kafka: KafkaTransactions, history: History, row: int) -> int:
    """Offset of the marker that ends a record's transaction in its partition; `NONE` if no disk has it."""
    offset = int(kafka.offset[row])
    logs = batches_of(history).of(kafka.partition(int(kafka.columns.sends.partition[row])))
    markers = (_ending(log, offset) for log in logs if offset != NONE)
    return max(markers, default=NONE)


def _named(kafka: KafkaTransactions, row: int) -> str:
    sends = kafka.columns.sends
    name = kafka.partition(int(sends.partition[row]))
    offset = int(kafka.offset[row])
    where = f"{name}@{offset}" if offset != NONE else str(name)
    return f"{kafka.columns.value_named(int(sends.value[row]))} ({where})"


def missing_records(kafka: KafkaTransactions) -> Missing:
    """Find records that a complete read_committed final read should have returned."""
    columns, sends = kafka.columns, kafka.columns.sends
    finals = columns.final_reads
    covering = np.full(len(columns.partitions), NONE, dtype=np.int64)
    rows = np.flatnonzero(finals.whole & _committed(kafka))[::-1]
    covering[finals.partition[rows]] = rows
    final = covering[sends.partition]
    known = np.append(finals.start, NEVER)[final] <= kafka.offset
    reached = kafka.offset < np.append(finals.end, NONE)[final]
    from_begin = (np.append(finals.start, NEVER)[final] == 0) & (sends.outcome == SendOutcome.OK)
    covered = np.where(kafka.offset == NONE, from_begin, known & reached)
    covered &= (final != NONE) & ~kafka.seen & ~_compacted(kafka)[sends.partition]
    send = np.flatnonzero(covered)
    return Missing(send, final[send])


def _compacted(kafka: KafkaTransactions) -> Booleans:
    """For each partition, whether old records of a key may be removed."""
    keys = kafka.columns.keys
    return np.array([name.topic in keys for name in kafka.columns.partitions], dtype=np.bool_)


def _committed(kafka: KafkaTransactions) -> Booleans:
    """For each final read, whether it was read_committed."""
    columns = kafka.columns
    isolations = np.array([reader.isolation == READ_COMMITTED for reader in columns.readers], dtype=np.bool_)
    return isolations[columns.calls.reader[columns.final_reads.call]]


class _FinalReader(NamedTuple):
    """A client that reads a partition at the end, at one isolation level."""

    partition: int
    client: str
    committed: bool


def hanging_transactions(kafka: KafkaTransactions, history: History) -> Iterator[Anomaly]:
    """Partitions whose last stable offset is below their end in the final phase.

    The two ends were listed one after the other, and a marker may have been written in between.  So no
    transaction hangs if a disk shows that none is open at the lower end, unless the log was known to be
    longer before.  If a compacted log has lost the record at that end, its transaction has ended.
    """
    columns, finals = kafka.columns, kafka.columns.final_reads
    committed = _committed(kafka)
    reported: set[int] = set()
    ends: dict[_FinalReader, int] = {}
    for row in np.flatnonzero(finals.whole).tolist():
        reader = columns.readers[int(columns.calls.reader[finals.call[row]])]
        ends.setdefault(_FinalReader(int(finals.partition[row]), reader.client, bool(committed[row])), row)
    for (partition, client, of_committed), row in ends.items():
        other = ends.get(_FinalReader(partition, client, committed=False))
        if not of_committed or other is None or partition in reported or finals.end[row] >= finals.end[other]:
            continue
        reported.add(partition)
        if not _ended_meanwhile(kafka, history, partition, int(finals.end[row])):
            yield _hanging(kafka, client, row, other)


def _ended_meanwhile(kafka: KafkaTransactions, history: History, partition: int, stable: int) -> bool:
    """Whether the transaction at the last stable offset may have ended after that offset was listed."""
    logs = batches_of(history).of(kafka.partition(partition))
    if _compacted(kafka)[partition] and any(_is_cleaned(log, stable) for log in logs):
        return True
    markers = [marker for log in logs if (marker := _ending(log, stable)) != NONE]
    sends = kafka.columns.sends
    since_ns = phase_began_ns(history, Phase.FINAL_READ) or 0
    before = (sends.partition == partition) & (sends.completed_ns < since_ns)
    return bool(markers) and int(sends.offset[before].max(initial=NONE)) <= min(markers)


def _is_cleaned(log: ReplicaLog, offset: int) -> bool:
    """Whether a log has lost the batch at an offset: nothing is cleaned from the last stable offset on."""
    return log.start <= offset < log.end and bool(log.rows_at(np.array([offset]))[0] == NONE)


def _ending(log: ReplicaLog, offset: int) -> int:
    """Offset from which no transaction is open at another offset, as a disk shows; `NONE` if one is open."""
    row = int(log.rows_at(np.array([offset]))[0])
    if row == NONE:
        return NONE
    if log.control[row] or not log.transactional[row]:
        return offset
    marker = int(markers_of(log)[row])
    return NONE if marker == NONE else int(log["base_offset"][marker])


def _hanging(kafka: KafkaTransactions, client: str, row: int, other: int) -> Anomaly:
    columns, finals = kafka.columns, kafka.columns.final_reads
    name = kafka.partition(int(finals.partition[row]))
    stable, end = int(finals.end[row]), int(finals.end[other])
    calls = [int(finals.call[row]), int(finals.call[other])]
    return ANOMALIES["hanging-transaction"].found(
        f"a transaction in {name} never ended: the last stable offset stayed at {stable}, the end is {end}",
        subject=str(name),
        time_ns=int(max(columns.calls.completed_ns[call] for call in calls)),
        witness=sorted(int(columns.calls.op[call]) for call in calls),
        explanation=(
            f"After recovery {client} listed offset {end} as the end of {name} at read_uncommitted.",
            f"At read_committed it listed {stable}, the last stable offset: a transaction is open there.",
            "The load was over, and the process that began that transaction neither commits nor aborts it.",
        ),
    )
