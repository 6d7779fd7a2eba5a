"""Finds what permits the anomalies of one partition: events of the history, or later records of the same key.

A compacted topic keeps the record at the highest offset of every key; a tombstone is kept only for a time.
All other records may be removed, and so may records of aborted transactions (Kafka documentation, Log
compaction; KIP-98).
"""

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers, SendOutcome
from checkers.licences import first_permit
from checkers.logs.log.claims import at, is_row
from checkers.logs.log.grouped import group_of, later_minimum
from checkers.logs.log.partition import PartitionLog

COMPACTED = (
    "cleanup.policy=compact: a later record of its key has a higher offset, or its transaction was aborted"
)
"""The licence of compaction."""
UNDECIDED = "cleanup.policy=compact: its transaction may have been aborted"
"""The licence of compaction for records that are not known to be committed."""
EXPIRED = (
    "delete.retention.ms: a tombstone is removed after this time, the records that it deletes before that"
)
"""The licence of tombstones."""

Licensed = tuple[Integers, tuple[str | None, ...]]
"""Shape (n,): row of the text that permits each anomaly, `NONE` if nothing does; and the texts."""


def truncated(
    log: PartitionLog,
    since_ns: Integers,
    until_ns: Integers,
    kept: Booleans,
    offset: Integers,
    *,
    known_ns: Integers | None = None,
) -> Licensed:
    """The licences of anomalies that only a truncation of the log can cause.

    Args:
        log: the partition.
        since_ns: shape (n,), time before which the record did not exist.
        until_ns: shape (n,), first time at which it is known to be missing.
        kept: shape (n,), whether a consumer received it, or all in-sync replicas had it.
        offset: shape (n,), the lowest offset that must have been truncated; `NONE` if unknown.
        known_ns: shape (n,), when the record was first known to exist; `since_ns` if not given.
    """
    return first_permit(log.permits, since_ns, until_ns, kept, offset, known_ns=known_ns), log.licences


def vanished(
    log: PartitionLog, claims: Integers, until_ns: Integers, kept: Booleans, replaced_ns: Integers
) -> Licensed:
    """The licences of missing records: a truncation, a removal of the log's start, or compaction.

    Args:
        log: the partition.
        claims: shape (n,), the records.
        until_ns: shape (n,), first time at which each is known to be missing.
        kept: shape (n,), whether a consumer received it, or all in-sync replicas had it.
        replaced_ns: for every claim of the partition, the time since which a later record of its key may
            exist.

    In a compacted topic also the records of a committed transaction may be gone, if its coordinator may have
    lost the decision, or a leader missed the marker: a cleaner may have taken it for aborted.
    """
    places = log.claims.offset[claims]
    since_ns = log.claims.since_ns[claims]
    known_ns = log.claims.known_ns[claims]
    licence = first_permit(log.permits, since_ns, until_ns, kept, places, known_ns=known_ns, removable=True)
    if not log.compacted:
        return licence, log.licences
    replaced = log.visibility.never[claims] | (replaced_ns[claims] < until_ns)
    texts = (*log.licences, COMPACTED, EXPIRED, UNDECIDED)
    expired = _expired(log, claims, until_ns)
    doubtful = ~log.visibility.always[claims]
    for row, permitted in enumerate((replaced, expired, doubtful), start=len(log.licences)):
        licence = np.where((licence == NONE) & permitted, row, licence)
    return undone(log, log.claims.ack[claims], np.ones_like(replaced), (licence, texts))


def _expired(log: PartitionLog, claims: Integers, until_ns: Integers) -> Booleans:
    """Which records are tombstones that may be removed by then, or may have been deleted by such a tombstone.

    A tombstone with an unknown outcome that was never read also counts: it may have been appended and
    removed.
    """
    marks = log.columns.tombstones.get(log.name.topic)
    if marks is None:
        return np.zeros(len(claims), dtype=np.bool_)
    log_claims, sends = log.claims, log.columns.sends
    since_ns = replaced_since(log, marks.among(log_claims.value) & ~aborted(log))
    own = marks.among(log_claims.value)
    since_ns[own] = np.minimum(since_ns, log_claims.since_ns)[own]
    rows = log.sends[sends.outcome[log.sends] == SendOutcome.INFO]
    rows = rows[marks.among(sends.value[rows])]
    unknown_ns = np.full(marks.keys, NEVER)
    np.minimum.at(unknown_ns, sends.value[rows] % marks.keys, sends.invoked_ns[rows])
    since_ns = np.minimum(since_ns, unknown_ns[log_claims.value % marks.keys])
    expired: Booleans = until_ns - since_ns[claims] >= marks.kept_ns
    return expired


def undone(log: PartitionLog, sends: Integers, hidden: Booleans, licensed: Licensed) -> Licensed:
    """Add licences for a transaction that did not end as it was acknowledged.

    Args:
        log: the partition.
        sends: shape (n,), rows of `Columns.sends` that sent the records; `NONE` if there is none.
        hidden: shape (n,), whether each anomaly only concerns whether read_committed readers received the
            record.
        licensed: the licences of the anomalies for other reasons.
    """
    if not log.decisions.texts:
        return licensed
    licence, texts = licensed
    row = log.decisions.of(at(log.columns.sends.invoke_op, sends, NONE))
    lost = (licence == NONE) & hidden & (row != NONE)
    return np.where(lost, len(texts) + row, licence), (*texts, *log.decisions.texts)


def aborted(log: PartitionLog) -> Booleans:
    """Which claims no reader and no cleaner takes for committed; shape (claims,)."""
    never, decisions = log.visibility.never, log.decisions
    if not decisions.texts:
        return never
    settled: Booleans = decisions.of(at(log.columns.sends.invoke_op, log.claims.ack, NONE)) == NONE
    return never & settled


def undecided(log: PartitionLog, claims: Integers) -> Booleans:
    """Whether no read_committed reader received a record of the same transaction here; shape (n,).

    If one was received, the transaction's marker is in the partition.
    """
    sends, shown = log.columns.sends, is_row(log.visibility.read)
    given = sends.invoke_op[log.claims.ack[shown & log.claims.acknowledged]]
    return ~np.isin(at(sends.invoke_op, log.claims.ack[claims], NONE), given)


def replaced_since(log: PartitionLog, by: Booleans) -> Integers:
    """The time since which a chosen claim of the same key may be at a higher offset, for each claim.

    Args:
        log: the partition.
        by: shape (claims,), the claims that may replace others.

    Returns:
        Shape (claims,), nanoseconds; `NEVER` if there is none.  Without compaction, all are `NEVER`.
    """
    claims = log.claims
    replaced_ns = np.full(len(claims.value), NEVER)
    if not log.compacted or not len(replaced_ns):
        return replaced_ns
    key = np.where(claims.value >= 0, claims.value % (log.keys or 1), claims.value)
    order = np.lexsort((claims.offset, key))
    chosen = by[order] & (claims.offset[order] != NONE)
    times_ns = np.where(chosen, claims.since_ns[order], NEVER)
    replaced_ns[order] = later_minimum(times_ns, group_of(key[order]))
    return replaced_ns
