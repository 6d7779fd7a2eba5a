"""Judges transactions in logs by the epochs of producers in batches and markers (KIP-890, part 2).

With transactions of version 1, a commit marker has the producer epoch of the EndTxn request.  With version 2
it has the next epoch.  The coordinator returns that epoch only to the client that sent the request, and this
client uses it for its next transaction (``TransactionMetadata.prepareAbortOrCommit``).  In both versions the
batches of the transaction have the epoch of the request, because a leader asks the coordinator before it
appends the first batch.  Abort markers may have any later epoch: timeouts and InitProducerId raise it too,
once or twice (KAFKA-19367).

So a commit marker with the epoch after that of its batches shows that the client uses version 2.  The batches
of two transactions never have the same epoch of version 2: a client that changes to version 2 raises its
epoch first (``TransactionManager.maybeUpdateTransactionV2Enabled``).  If ``transaction.version`` is not
lowered, at most one later transaction, of the same client, has the epoch of the marker.  It follows that

1. a commit marker never has an epoch beyond the next one of the batches that it ends;
2. a marker does not have the epoch of batches that were sent with an epoch of version 2: it is that of the
   transaction before, sent late (KAFKA-19446, fixed in 4.2.0);
3. a transaction of version 2 has commit markers, with the next epoch, in all partitions or in none;
4. acknowledged records of two transactions do not have the same epoch of version 2;
5. with any version, there is a marker between the batches of two epochs of one producer.

Only finding 4 looks at answers to clients.  Left out are parts of logs that may have been truncated, logs
with gaps, producers whose coordinators may have lost states, and brokers that forget producers early.
Findings 2 and 3 leave out producers for which an administrator requested abort markers, which have the epoch
of the batches.  Finding 2 is left out if ``transaction.version`` may have been lowered: a client that changes
back to version 1 keeps the epoch that the last marker of version 2 has, and ends transactions with it.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName
from checkers.evidence.features import TRANSACTION_VERSION, may_be_lowered
from checkers.evidence.loading import columns_of
from checkers.evidence.replicas import COMMIT, ReplicaLog
from checkers.history.operations import INVOKE, History
from checkers.history.transactions import LeaderRequested
from checkers.logs.replicas.anomalies import (
    MARKER_OF_ANOTHER_TRANSACTION,
    MARKER_SHARED,
    TRANSACTION_EPOCH_SHARED,
)
from checkers.logs.replicas.client_results import intact_parts
from checkers.logs.replicas.coordinated import certain_producers
from checkers.logs.replicas.limits import Limits
from checkers.logs.replicas.markers import markers_of
from checkers.logs.replicas.single_log import batch_text
from checkers.verdict.verdict import Anomaly

_EPOCHS = 2**16
"""An upper bound of the number of epochs of a producer."""


class EndedParts(NamedTuple):
    """The parts of transactions that logs have markers for, one for each partition; all have the shape (n,).

    Attributes:
        log: place of the log in the sequence of logs.
        producer: producer id.
        epoch: epoch of the part's last batch.
        batch: row of this batch.
        marker: row of the marker.
        commits: whether it is a commit marker.
        raised: its epoch minus that of the batch.
    """

    log: Integers
    producer: Integers
    epoch: Integers
    batch: Integers
    marker: Integers
    commits: Booleans
    raised: Integers

    @property
    def key(self) -> Integers:
        """Numbers that are equal if producer and epoch are."""
        return self.producer * _EPOCHS + self.epoch

    def among(self, producers: Integers) -> "EndedParts":
        """The parts of transactions of some producers."""
        kept = np.isin(self.producer, producers)
        return EndedParts._make(column[kept] for column in self)


def find_by_epochs(
    history: History,
    logs: Mapping[PartitionName, ReplicaLog],
    limits: Limits,
    reported: Collection[Anomaly],
    figures: Counter[str],
) -> Iterator[Anomaly]:
    """Find markers of other transactions, missing ones, and epochs that two transactions have.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        logs: for each judged partition, the log of one in-sync replica; compacted partitions are left out.
        limits: whether brokers forget producers early.
        reported: findings so far; a marker that they have as shared is not reported again.
        figures: counts the markers that end batches, those that are of version 2 for certain, and the
            transactions whose epochs are compared.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    with_transactions = {name: log for name, log in logs.items() if log.transactional.any()}
    if not with_transactions or limits.forgetting:
        return
    certain = certain_producers(history)
    whole = [log for log in intact_parts(history, with_transactions).values() if is_whole(log)]
    known = {anomaly.subject for anomaly in reported if anomaly.id == MARKER_SHARED.id}
    for log in whole:
        yield from (found for found in _unseparated(log, certain) if found.subject not in known)
    parts = ended_parts(whole)
    if certain is not None:
        parts = parts.among(certain)
    second = parts.commits & (parts.raised == 1)
    figures.update(ends_by_epochs=len(parts.log), commits_of_version_2=int(second.sum()))
    by_hand = np.isin(parts.producer, aborted_by_hand(history))
    own = by_hand | may_be_lowered(history, TRANSACTION_VERSION)
    yield from _of_others(whole, parts, second, by_hand, own)
    if history.of("txn"):
        yield from _shared(columns_of(history), whole, parts.key[second], figures)


def ended_parts(logs: Sequence[ReplicaLog]) -> EndedParts:
    """The parts of transactions with a marker, log by log, each in the order of producers and offsets."""
    tables = [np.empty((7, 0), dtype=np.int64), *(_ended_in(place, log) for place, log in enumerate(logs))]
    log, producer, epoch, batch, marker, commits, raised = np.concatenate(tables, axis=1)
    return EndedParts(log, producer, epoch, batch, marker, commits == 1, raised)


def _ended_in(place: int, log: ReplicaLog) -> Integers:
    """The columns of `EndedParts` for one log, shape (7, n)."""
    before, after = _neighbours(log)
    last = ~log.control[before] & log.control[after]
    batch, marker = before[last], after[last]
    epoch = log["producer_epoch"]
    where = np.full(len(batch), place)
    commits = (log["control"][marker] == COMMIT).astype(np.int64)
    raised = epoch[marker] - epoch[batch]
    return np.stack((where, log["producer_id"][batch], epoch[batch], batch, marker, commits, raised))


def _neighbours(log: ReplicaLog) -> tuple[Integers, Integers]:
    """Rows of a producer's batches and markers in transactions, and the next row of the same producer."""
    rows = np.flatnonzero(log.transactional)
    producer = log["producer_id"][rows]
    order = np.lexsort((rows, producer))
    same = producer[order][1:] == producer[order][:-1]
    return rows[order][:-1][same], rows[order][1:][same]


def is_whole(log: ReplicaLog) -> bool:
    """Whether a log has no gap, such as one of segments that were deleted while it was read."""
    return bool((log["base_offset"][1:] == log["last_offset"][:-1] + 1).all())


def aborted_by_hand(history: History) -> Integers:
    """Producer ids for which an administrator requested abort markers, each request once."""
    asked = (operation for operation in history.of("abort-transaction") if operation.type is INVOKE)
    return np.array(
        [msgspec.convert(one.value, LeaderRequested).producer_id for one in asked], dtype=np.int64
    )


def _unseparated(log: ReplicaLog, certain: Integers | None) -> Iterator[Anomaly]:
    """One finding for each pair of epochs of a producer without a marker between their batches.

    Args:
        log: the log.
        certain: the producers that are judged; None: all.
    """
    before, after = _neighbours(log)
    epoch = log["producer_epoch"]
    pair = ~log.control[before] & ~log.control[after] & (epoch[after] > epoch[before])
    if certain is not None:
        pair &= np.isin(log["producer_id"][before], certain)
    ends = markers_of(log)
    for row, following in sorted(zip(before[pair].tolist(), after[pair].tolist(), strict=True)):
        marker, producer = int(ends[following]), int(log["producer_id"][row])
        at = int(log["base_offset"][following if marker == NONE else marker])
        both = "no marker ends them" if marker == NONE else f"the marker at {at} ends both"
        yield MARKER_SHARED.found(
            f"{log.partition} has no marker between batches of two epochs of producer {producer}, at "
            f"{int(log['base_offset'][row])} and {int(log['base_offset'][following])}: {both}",
            subject=f"{log.partition}@{at}",
            time_ns=log.time_ns,
            witness=(log.op,),
            explanation=[batch_text(log, each) for each in (row, following, marker) if each != NONE],
        )


def _of_others(
    logs: Sequence[ReplicaLog], parts: EndedParts, second: Booleans, by_hand: Booleans, own: Booleans
) -> Iterator[Anomaly]:
    """One finding for each part whose marker is that of another transaction.

    Args:
        logs: the logs.
        parts: the parts of transactions in them.
        second: which of these have the commit marker of a transaction of version 2.
        by_hand: of which of these producers an administrator requested abort markers.
        own: in which of these parts the batches' own marker may have their epoch, if it is one of version 2.
    """
    key, rows = parts.key, np.flatnonzero(second)
    far = parts.commits & (parts.raised > 1)
    late = np.isin(key, key[second] + 1) & (parts.raised == 0) & ~own
    torn = np.isin(key, key[second]) & ~second & (parts.raised >= 0) & ~far & ~late & ~by_hand
    order = rows[np.argsort(key[rows], kind="stable")]
    for part in np.flatnonzero(far).tolist():
        yield _other(logs, parts, (part,), "a commit has their epoch, or the next one")
    for why, found, other in (
        ("their epoch is one of version 2, which a commit marker gave", late, key - 1),
        ("another partition has the commit marker of that epoch", torn, key),
    ):
        place = np.searchsorted(key[order], other)
        for part in np.flatnonzero(found).tolist():
            yield _other(logs, parts, (part, int(order[place[part]])), why)


def _other(logs: Sequence[ReplicaLog], parts: EndedParts, shown: tuple[int, ...], why: str) -> Anomaly:
    """The finding for the first of some parts of transactions; the others show what it contradicts."""
    part, seen = shown[0], [logs[int(parts.log[each])] for each in shown]
    log = seen[0]
    offset, end = (int(log["base_offset"][int(rows[part])]) for rows in (parts.batch, parts.marker))
    epoch, kind = int(parts.epoch[part]), "commit" if parts.commits[part] else "abort"
    lines = [
        batch_text(each, int(rows[place]))
        for each, place in zip(seen, shown, strict=True)
        for rows in (parts.batch, parts.marker)
    ]
    return MARKER_OF_ANOTHER_TRANSACTION.found(
        f"{log.partition} has the batch at {offset} of producer {int(parts.producer[part])} and epoch "
        f"{epoch}, and the next marker, at {end}, is {'a' if kind == 'commit' else 'an'} {kind} of epoch "
        f"{epoch + int(parts.raised[part])}: {why}",
        subject=f"{log.partition}@{end}",
        time_ns=max(each.time_ns for each in seen),
        witness=tuple(sorted({each.op for each in seen})),
        explanation=lines,
    )


def _shared(
    columns: Columns, logs: Sequence[ReplicaLog], second: Integers, figures: Counter[str]
) -> Iterator[Anomaly]:
    """One finding for each transaction with the epoch of an earlier one.

    Args:
        columns: the columns of the history.
        logs: the logs.
        second: keys of the producers and epochs of version 2, as in `EndedParts`.
        figures: counts the transactions that are compared.
    """
    sends, code = columns.sends, {name: code for code, name in enumerate(columns.partitions)}
    tables = [np.empty((4, 0), dtype=np.int64)]
    for place, log in enumerate(logs):
        mine = sends.partition == code.get(log.partition, NONE)
        send = np.flatnonzero(sends.transactional & mine & (sends.offset != NONE))
        row = log.rows_at(sends.offset[send])
        send, row = send[row != NONE], row[row != NONE]
        key = log["producer_id"][row] * _EPOCHS + log["producer_epoch"][row]
        there = np.isin(key, second)
        where = np.full(int(there.sum()), place)
        tables.append(np.stack((key[there], sends.invoke_op[send[there]], where, row[there])))
    table = np.concatenate(tables, axis=1)
    table = table[:, np.lexsort((table[1], table[0]))]
    key, operation = table[:2]
    figures["transactions_of_version_2"] += len(np.unique(operation))
    for pair in np.flatnonzero((key[1:] == key[:-1]) & (operation[1:] != operation[:-1])).tolist():
        yield _twice(logs, table[:, pair : pair + 2])


def _twice(logs: Sequence[ReplicaLog], table: Integers) -> Anomaly:
    """The finding for two records of different transactions with the same epoch."""
    (key, _), (first, second), places, rows = table.tolist()
    one, other = (logs[place] for place in places)
    return TRANSACTION_EPOCH_SHARED.found(
        f"two transactions (operations {first} and {second}) have epoch {key % _EPOCHS} of producer "
        f"{key // _EPOCHS}, whose client speaks transactions of version 2",
        subject=f"{other.partition}@{int(other['base_offset'][rows[1]])}",
        time_ns=max(one.time_ns, other.time_ns),
        witness=tuple(sorted({first, second, one.op, other.op})),
        explanation=[
            f"Operation {operation} sent a record of this batch: {batch_text(log, row)}"
            for operation, log, row in zip((first, second), (one, other), rows, strict=True)
        ],
    )
