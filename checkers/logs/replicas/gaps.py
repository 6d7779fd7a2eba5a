"""Gaps in logs: missing offsets, and missing sequence numbers of idempotent producers.

A leader assigns to every batch the offset after the last one (Kafka documentation, Implementation, Log), so
offsets are missing between two batches only if compaction removed batches.

A leader appends a batch of an idempotent producer only if its sequence number follows the producer's last one
in its own log, or is 0 in a newer epoch, and never in an older epoch (KIP-98, KIP-360).  So each log is in
order by itself, even a truncated one: a producer whose last batches were truncated is refused, and continues
in a newer epoch.  A producer without any batch in the log may start with any number, because a leader accepts
the first batch of an unknown producer.

Markers of an older producer epoch are refused too, and markers of an older epoch of the coordinator, which is
the leader epoch of its partition (``ProducerAppendInfo.appendEndTxnMarker``, the same from 3.6.2 to 4.3.1).
Since 4.2.0 a marker of a transaction of version 2 is also refused if its epoch is that of open records
(KAFKA-19446); `transaction_epochs` judges this.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Booleans, Integers
from checkers.evidence.replicas import ReplicaLog
from checkers.logs.replicas.anomalies import (
    COORDINATOR_EPOCH_REGRESSION,
    OFFSET_GAP,
    PRODUCER_EPOCH_REGRESSION,
    SEQUENCE_GAP,
)
from checkers.logs.replicas.single_log import Finds, batch_text
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly

_EPOCHS = 2**16
"""An upper bound of the number of epochs of a producer."""
_SEQUENCES = 2**32
"""An upper bound of the sequence numbers, including those that wrap within a batch."""


class Produced(NamedTuple):
    """Batches and markers of idempotent producers, by producer, in the order of the log.

    Attributes:
        rows: rows of the log.
        epoch: producer epoch.
        before: highest producer epoch of the producer's batches up to the one before; -1 for its first one.
        marker: whether the row is a marker.
        coordinator: coordinator epoch of a marker; -1 if there is none.
        first: sequence number of the batch's first record.
        following: the sequence number after that of its last record.
        same: whether the previous row is of the same producer.
    """

    rows: Integers
    epoch: Integers
    before: Integers
    marker: Booleans
    coordinator: Integers
    first: Integers
    following: Integers
    same: Booleans


class BatchPair(NamedTuple):
    """Two batches of one log that contradict each other, the earlier one first; rows of that log."""

    log: ReplicaLog
    before: int
    after: int

    @property
    def offsets(self) -> tuple[int, int]:
        """The last offset of the first batch, and the first offset of the second."""
        columns = self.log.columns
        return int(columns["last_offset"][self.before]), int(columns["base_offset"][self.after])


def find_missing_offsets(logs: Sequence[ReplicaLog], first: int) -> Iterator[Finds]:
    """Find offsets, from `first` on, that no batch of a log has.

    A gap that several logs share is one finding.
    """
    pairs = [BatchPair(log, row, row + 1) for log in logs for row in _missing_offsets(log, first)]
    yield from _finds(OFFSET_GAP, pairs, "no batch has the offsets between {} and {}")


def find_wrong_numbers(logs: Sequence[ReplicaLog]) -> Iterator[Finds]:
    """Find batches that a leader had to refuse.

    A batch that several logs share is one finding.
    """
    batches = [(log, produced(log)) for log in logs]
    back = [BatchPair(log, *rows) for log, found in batches for rows in epochs_back(found)]
    text = "after offset {} the batch at {} has an old producer epoch"
    yield from _finds(PRODUCER_EPOCH_REGRESSION, back, text)
    replaced = [BatchPair(log, *rows) for log, found in batches for rows in coordinators_back(found)]
    text = "after offset {} the marker at {} has an old coordinator epoch"
    yield from _finds(COORDINATOR_EPOCH_REGRESSION, replaced, text)
    wrong = [BatchPair(log, *rows) for log, found in batches for rows in out_of_sequence(found)]
    text = "after offset {} the batch at {} does not have its producer's next sequence number"
    yield from _finds(SEQUENCE_GAP, wrong, text)


def _missing_offsets(log: ReplicaLog, first: int) -> list[int]:
    """Rows after which offsets are missing."""
    base, last = log["base_offset"], log["last_offset"]
    bad = (base[1:] > last[:-1] + 1) & (last[:-1] + 1 >= first)
    return np.flatnonzero(bad).tolist()


def produced(log: ReplicaLog) -> Produced:
    """The batches that idempotent producers appended, from the log's start on."""
    producer, numbered = log["producer_id"], log.control | (log["base_sequence"] >= 0)
    rows = np.flatnonzero((producer >= 0) & numbered & (log["base_offset"] >= log.start))
    rows = rows[np.lexsort((rows, producer[rows]))]
    producer, epoch = producer[rows], log["producer_epoch"][rows]
    same = np.r_[False, producer[1:] == producer[:-1]][: len(rows)]
    rank = np.cumsum(~same) * _EPOCHS
    highest = np.maximum.accumulate(epoch + rank) - rank
    first = log["base_sequence"][rows]
    count = log["last_offset"][rows] - log["base_offset"][rows] + 1
    return Produced(
        rows=rows,
        epoch=epoch,
        before=np.where(same, np.r_[-1, highest[:-1]][: len(rows)], -1),
        marker=log.control[rows],
        coordinator=log["coordinator_epoch"][rows],
        first=first,
        following=first + count,
        same=same,
    )


def epochs_back(found: Produced) -> list[tuple[int, int]]:
    """Rows of batches and markers whose producer already had a later epoch, each with the previous row."""
    bad = np.flatnonzero(found.epoch < found.before)
    return _sorted(found.rows[bad - 1], found.rows[bad])


def coordinators_back(found: Produced) -> list[tuple[int, int]]:
    """Rows of markers whose coordinator epoch is lower than that of their producer's previous marker."""
    markers = np.flatnonzero(found.marker & (found.coordinator >= 0))
    producer, epoch = np.cumsum(~found.same)[markers], found.coordinator[markers]
    bad = np.flatnonzero((producer[1:] == producer[:-1]) & (epoch[1:] < epoch[:-1]))
    return _sorted(found.rows[markers[bad]], found.rows[markers[bad + 1]])


def out_of_sequence(found: Produced) -> list[tuple[int, int]]:
    """Rows of a producer's batches, each after the previous one, with sequence numbers missing in between.

    Markers have no numbers.  Two cases are left out because they are other findings: an epoch that had ended,
    and records that had been appended before, which are duplicates.  Wrapped numbers, which are lower, are
    left out too.
    """
    data = np.flatnonzero(~found.marker)
    producer, epoch = np.cumsum(~found.same)[data], found.epoch[data]
    again = (producer[1:] == producer[:-1]) & (epoch[1:] == epoch[:-1])
    newer = (producer[1:] == producer[:-1]) & (epoch[1:] > epoch[:-1])
    rank = np.cumsum(np.r_[True, ~again][: len(data)]) * _SEQUENCES
    due = np.maximum.accumulate(found.following[data] + rank) - rank
    first = found.first[data]
    bad = np.flatnonzero((again & (first[1:] > due[:-1])) | (newer & (first[1:] != 0)))
    return _sorted(found.rows[data[bad]], found.rows[data[bad + 1]])


def _sorted(before: Integers, after: Integers) -> list[tuple[int, int]]:
    """Return pairs in the order of the log."""
    order = np.argsort(after, kind="stable")
    return list(zip(before[order].tolist(), after[order].tolist(), strict=True))


def _finds(kind: AnomalyKind, pairs: Sequence[BatchPair], text: str) -> Iterator[Finds]:
    """Findings of one kind, one for each position in a partition."""
    places: dict[tuple[int, int], list[BatchPair]] = {}
    for pair in pairs:
        places.setdefault(pair.offsets, []).append(pair)
    if places:
        shared = list(places.values())
        examples = [_found(kind, same, text) for same in shared[:EXAMPLES_PER_ANOMALY]]
        yield Finds(kind, len(shared), tuple(examples))


def _found(kind: AnomalyKind, same: Sequence[BatchPair], text: str) -> Anomaly:
    pair, *others = same
    log = pair.log
    lines = [batch_text(log, pair.before), batch_text(log, pair.after)]
    if others:
        lines.append(f"{', '.join(each.log.node for each in others)}: the same.")
    return kind.found(
        f"{log.partition} on {log.node}: {text.format(*pair.offsets)}",
        subject=f"{log.partition}@{pair.offsets[1]}",
        time_ns=log.time_ns,
        witness=(log.op,),
        explanation=lines,
    )
