"""Compares the logs of one partition: up to the high watermark, in-sync replicas have the same batches."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.columns.tables import Integers
from checkers.evidence.replicas import ReplicaLog
from checkers.logs.replicas.anomalies import SHORT_REPLICA
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

COMPARED = (
    "base_offset",
    "last_offset",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "count",
    "crc",
    "attributes",
)
"""Columns that must be equal; the CRC represents the content."""


class ComparedRange(NamedTuple):
    """The range in which logs are compared.

    Attributes:
        first: first offset.
        end: offset after the last offset.
        witness: operations that show the in-sync replicas and the committed end.
        reason: the same as a sentence.
    """

    first: int
    end: int
    witness: tuple[int, ...]
    reason: str


def batches_within(log: ReplicaLog, stretch: ComparedRange) -> int:
    """Number of batches of a log that are partly or completely in a range."""
    return len(_rows(log, stretch))


def find_divergence(
    kind: AnomalyKind, reference: ReplicaLog, other: ReplicaLog, stretch: ComparedRange
) -> Iterator[Anomaly]:
    """One finding, at the first difference, if two logs do not have the same batches in a range."""
    expected, held = _table(reference, stretch), _table(other, stretch)
    if len(held) != len(expected) or not bool((held == expected).all()):
        yield _divergence(kind, (reference, expected), (other, held), stretch)


def find_short(logs: Iterable[ReplicaLog], committed: ComparedRange) -> Iterator[Anomaly]:
    """One finding for each log that ends below the committed end."""
    for log in logs:
        if log.end < committed.end:
            yield SHORT_REPLICA.found(
                f"{log.partition} on {log.node} ends at {log.end}, but {committed.end} was committed",
                subject=f"{log.partition}@{log.end}",
                time_ns=log.time_ns,
                witness=(*committed.witness, log.op),
                explanation=(
                    committed.reason,
                    f"On {log.node}'s disk the log ends at {log.end}{_tail(log)}.",
                ),
            )


def find_late(logs: Iterable[ReplicaLog], committed: ComparedRange) -> Iterator[Anomaly]:
    """One finding for each log that starts above the start of the committed range."""
    for log in logs:
        if log.start > committed.first:
            yield SHORT_REPLICA.found(
                f"{log.partition} on {log.node} begins at {log.start}, but the records to keep "
                f"begin at {committed.first}",
                subject=f"{log.partition}@{committed.first}",
                time_ns=log.time_ns,
                witness=(*committed.witness, log.op),
                explanation=(
                    committed.reason,
                    f"Final reads listed, or DeleteRecords asked, that it begins at {committed.first}.",
                    f"On {log.node}'s disk the log begins at {log.start}.",
                ),
            )


def _tail(log: ReplicaLog) -> str:
    if log.seen.tail is None:
        return ""
    file, position, size, kind = log.seen.tail
    return f"; {size} bytes of {file} from byte {position} are not a whole batch ({kind})"


def _rows(log: ReplicaLog, stretch: ComparedRange) -> Integers:
    inside = (log["last_offset"] >= stretch.first) & (log["base_offset"] < stretch.end)
    return np.flatnonzero(inside)


def _table(log: ReplicaLog, stretch: ComparedRange) -> NDArray[np.void]:
    """Rows of the compared columns, one structured value each, so that two rows can be compared as values."""
    rows = _rows(log, stretch)
    table = np.empty(len(rows), dtype=[(name, np.int64) for name in COMPARED])
    for name in COMPARED:
        table[name] = log.columns[name][rows]
    return table


def _divergence(
    kind: AnomalyKind,
    reference: tuple[ReplicaLog, NDArray[np.void]],
    other: tuple[ReplicaLog, NDArray[np.void]],
    stretch: ComparedRange,
) -> Anomaly:
    (left, expected), (right, held) = reference, other
    shared = min(len(expected), len(held))
    differing = np.flatnonzero(expected[:shared] != held[:shared])
    row = int(differing[0]) if len(differing) else shared
    first = min(int(table["base_offset"][row]) for table in (expected, held) if row < len(table))
    only_left = len(np.setdiff1d(expected, held))
    only_right = len(np.setdiff1d(held, expected))
    return kind.found(
        f"{left.partition}: from offset {first} on, {right.node} does not have the batches that "
        f"{left.node} has",
        subject=f"{left.partition}@{first}",
        time_ns=max(left.time_ns, right.time_ns),
        witness=(*stretch.witness, left.op, right.op),
        explanation=(
            stretch.reason,
            f"{left.node} there: {_batch(expected, row)}.",
            f"{right.node} there: {_batch(held, row)}.",
            f"In total {_batches(only_left)} only on {left.node}, and {only_right:,} only on {right.node}.",
        ),
    )


def _batch(table: NDArray[np.void], row: int) -> str:
    if row >= len(table):
        return "no batch"
    fields = {name: int(table[name][row]) for name in COMPARED}
    first, last = fields["base_offset"], fields["last_offset"]
    where = f"offset {first}" if first == last else f"offsets {first} to {last}"
    records = "1 record" if fields["count"] == 1 else f"{fields['count']:,} records"
    return (
        f"{where} in epoch {fields['leader_epoch']}: {records} of {_producer(fields)}, "
        f"CRC 0x{fields['crc'] & 0xFFFFFFFF:08x}, attributes {fields['attributes']}"
    )


def _producer(fields: Mapping[str, int]) -> str:
    if fields["producer_id"] < 0:
        return "no producer id"
    named = f"producer id {fields['producer_id']} epoch {fields['producer_epoch']}"
    return f"{named} from sequence {fields['base_sequence']} on"


def _batches(number: int) -> str:
    return "1 batch is" if number == 1 else f"{number:,} batches are"
