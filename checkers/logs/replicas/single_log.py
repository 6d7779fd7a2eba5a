"""Judges one log by itself: damage, order of offsets and epochs, sequences, open transactions."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Booleans, Integers
from checkers.evidence.replicas import ReplicaLog
from checkers.logs.replicas.anomalies import (
    CORRUPT_BATCH,
    DUPLICATE_BATCH,
    LEADER_EPOCH_REGRESSION,
    OVERLAPPING_BATCHES,
)
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Finds(NamedTuple):
    """All findings of one kind in one log: their number, and the first of them."""

    kind: AnomalyKind
    number: int
    examples: tuple[Anomaly, ...]


class Sequences(NamedTuple):
    """Batches of idempotent producers, sorted by producer id, epoch and sequence.

    Attributes:
        rows: rows of the log.
        first: sequence number of the batch's first record.
        last: sequence number of its last record; numbers wrap at 2³¹, but here a wrapped number is larger,
            not smaller.
        same: whether the previous batch in this order has the same producer id and epoch.
    """

    rows: Integers
    first: Integers
    last: Integers
    same: Booleans


def find_alone(log: ReplicaLog) -> Iterator[Finds]:
    """Find the violations in one log, one entry for each kind."""
    for finds in (_corrupt(log), _overlaps(log), _regressions(log), _duplicates(log)):
        if finds.number:
            yield finds


def open_transactions(log: ReplicaLog) -> Integers:
    """Rows of the last batch of each producer whose transaction no later marker ends (KIP-98).

    A marker has the producer's epoch or, with transaction version 2, a later one (KIP-890).
    """
    rows = np.flatnonzero(log.transactional)
    if not len(rows):
        return rows
    rows = rows[np.lexsort((rows, log["producer_id"][rows]))]
    producer, ends = log["producer_id"][rows], log.control[rows]
    is_last = np.r_[producer[1:] != producer[:-1], True]
    return np.sort(rows[is_last & ~ends])


def _sequences(log: ReplicaLog) -> Sequences:
    producer, epoch, base = log["producer_id"], log["producer_epoch"], log["base_sequence"]
    rows = np.flatnonzero((producer >= 0) & (base >= 0) & ~log.control)
    rows = rows[np.lexsort((rows, base[rows], epoch[rows], producer[rows]))]
    producer, epoch, first = producer[rows], epoch[rows], base[rows]
    last = first + log["last_offset"][rows] - log["base_offset"][rows]
    same = np.r_[False, (producer[1:] == producer[:-1]) & (epoch[1:] == epoch[:-1])][: len(rows)]
    return Sequences(rows, first, last, same)


def batch_text(log: ReplicaLog, row: int) -> str:
    """One batch as text."""
    names = ("base_offset", "last_offset", "leader_epoch", "producer_id", "producer_epoch", "base_sequence")
    first, last, leader_epoch, producer, epoch, sequence = (int(log.columns[name][row]) for name in names)
    return (
        f"{log.node} holds offsets {first} to {last} of {log.partition} as a batch of leader epoch"
        f" {leader_epoch}, producer id {producer}, epoch {epoch}, sequence {sequence}."
    )


def _finds(log: ReplicaLog, kind: AnomalyKind, pairs: list[tuple[int, int]], what: str) -> Finds:
    """Findings about pairs of batches, the earlier one first."""
    examples = tuple(
        kind.found(
            f"{log.partition} on {log.node}: {what.format(*_offsets(log, pair))}",
            subject=f"{log.partition}@{int(log.columns['base_offset'][pair[1]])}",
            time_ns=log.time_ns,
            witness=(log.op,),
            explanation=[batch_text(log, row) for row in pair],
        )
        for pair in pairs[:EXAMPLES_PER_ANOMALY]
    )
    return Finds(kind, len(pairs), examples)


def _offsets(log: ReplicaLog, pair: tuple[int, int]) -> tuple[int, int]:
    return int(log.columns["base_offset"][pair[0]]), int(log.columns["base_offset"][pair[1]])


def _neighbours(bad: Booleans) -> list[tuple[int, int]]:
    """Pairs of adjacent rows at each place where a batch does not fit the previous one."""
    return [(int(row), int(row) + 1) for row in np.flatnonzero(bad)]


def _overlaps(log: ReplicaLog) -> Finds:
    bad = log["base_offset"][1:] <= log["last_offset"][:-1]
    return _finds(log, OVERLAPPING_BATCHES, _neighbours(bad), "the batch at {1} overlaps that at {0}")


def _regressions(log: ReplicaLog) -> Finds:
    epoch = log["leader_epoch"]
    what = "the batch at {1} has a lower leader epoch than that at {0}"
    return _finds(log, LEADER_EPOCH_REGRESSION, _neighbours(epoch[1:] < epoch[:-1]), what)


def _duplicates(log: ReplicaLog) -> Finds:
    found = _sequences(log)
    again = np.flatnonzero(found.same[1:] & (found.first[1:] <= found.last[:-1]))
    pairs = sorted(
        (int(min(rows)), int(max(rows)))
        for rows in zip(found.rows[again], found.rows[again + 1], strict=True)
    )
    return _finds(log, DUPLICATE_BATCH, pairs, "the batch at {1} had already been appended at {0}")


def _corrupt(log: ReplicaLog) -> Finds:
    examples = tuple(
        CORRUPT_BATCH.found(
            f"{log.partition} on {log.node}: {reason} at byte {position} of {file}",
            subject=f"{log.partition}@{'?' if offset is None else offset}",
            time_ns=log.time_ns,
            witness=(log.op,),
            explanation=(f"{log.node}, {file}, byte {position}: {reason}.",),
        )
        for file, position, offset, reason in log.seen.corrupt[:EXAMPLES_PER_ANOMALY]
    )
    return Finds(CORRUPT_BATCH, len(log.seen.corrupt), examples)
