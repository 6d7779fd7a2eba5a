"""Compares the leader epochs that replicas stored with their batches, each other, and the elections.

For each epoch a replica stores the offset of the epoch's first batch in its log, or its log's end when it
became leader (KIP-101).  So these entries ascend, and every batch has the epoch of the range that it is in.

Some differences are legal.  The first entry moves up with the log's start.  An epoch without records is
missing, or is the last entry of its leader only.  A replica that fetched a compacted topic again has the
first offset that is left.  Two cases are not judged: out-of-sync replicas, which may still be truncated, and
replicas after a power loss, which may restore an older file.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from checkers.columns.tables import NEVER, NONE, Integers, PartitionName
from checkers.evidence.leader_epochs import Noted
from checkers.evidence.partition_changes import NOBODY, PartitionChanges
from checkers.evidence.replicas import ReplicaLog
from checkers.history.observed import Entries
from checkers.logs.replicas.anomalies import (
    EPOCH_NOTE_CONTRADICTED,
    EPOCH_START_DIVERGENCE,
    EPOCH_WITHOUT_ELECTION,
)
from checkers.logs.replicas.comparison import ComparedRange
from checkers.verdict.verdict import Anomaly


def find_contradicted(log: ReplicaLog, noted: Noted, committed: ComparedRange) -> Iterator[Anomaly]:
    """One finding if a replica's entries are out of order, or its own batches contradict them.

    Args:
        log: the replica's batches.
        noted: the replica's entries.
        committed: the range in which batches are judged; batches below the first entry count only from its
            start on.
    """
    disordered = [*find_disordered(noted, log)]
    if disordered:
        yield from disordered
        return
    rows = judged_rows(log, committed)
    expected = _epochs_at(noted.entries, log["base_offset"][rows])
    ends = _epochs_at(noted.entries, log["last_offset"][rows])
    epoch = log["leader_epoch"][rows]
    bad = np.flatnonzero((epoch != expected) | (epoch != ends))
    if len(bad):
        row = int(rows[bad[0]])
        base, last = int(log.columns["base_offset"][row]), int(log.columns["last_offset"][row])
        lines = (
            f"{noted.node} holds offsets {base} to {last} of {log.partition} in epoch {int(epoch[bad[0]])}.",
            f"{noted.node} noted {', '.join(map(_entry_text, noted.entries)) or 'no epoch'}.",
        )
        yield _contradicted(noted, base, lines, log)


def find_disordered(noted: Noted, log: ReplicaLog | None = None) -> Iterator[Anomaly]:
    """One finding if a replica's entries are out of order; its log is a witness if it is known."""
    for one, other in pairwise(noted.entries):
        if other[0] <= one[0] or other[1] <= one[1]:
            order = f"{_entry_text(one)} before {_entry_text(other)}"
            yield _contradicted(noted, one[1], (f"{noted.node} noted {order}.",), log)
            return


def judged_rows(log: ReplicaLog, committed: ComparedRange) -> Integers:
    """Rows of the batches whose epochs are compared with the entries."""
    first = max(log.start, committed.first)
    return np.flatnonzero((log["base_offset"] >= first) & (log["last_offset"] < committed.end))


def find_different_starts(reference: Noted, other: Noted, committed: ComparedRange) -> Iterator[Anomaly]:
    """One finding if two replicas stored different starts of an epoch below the committed end."""
    known = dict(reference.entries[1:])
    for epoch, start in other.entries[1:]:
        if known.get(epoch, start) != start and min(known[epoch], start) < committed.end:
            yield EPOCH_START_DIVERGENCE.found(
                f"{other.partition}: leader epoch {epoch} began at offset {known[epoch]} by the "
                f"checkpoint of {reference.node}, and at {start} by that of {other.node}",
                subject=f"{other.partition}@{min(known[epoch], start)}",
                time_ns=max(reference.time_ns, other.time_ns),
                witness=(*committed.witness, reference.op, other.op),
                explanation=(
                    committed.reason,
                    f"{reference.node} noted {_entry_text((epoch, known[epoch]))}.",
                    f"{other.node} noted {_entry_text((epoch, start))}.",
                ),
            )
            return


def find_unelected(
    partition: PartitionName, sources: Iterable[ReplicaLog | Noted], changes: PartitionChanges
) -> Iterator[Anomaly]:
    """One finding for each epoch in a log or an entry that no election of the metadata log started."""
    states = changes.states.get(partition, ())
    elected = {state.leader_epoch for state in states if state.leader != NOBODY}
    found: set[int] = set()
    for each in sources if states else ():
        for epoch, start in _first_of_each(each):
            if epoch not in elected and epoch not in found:
                found.add(epoch)
                yield _unelected(each, epoch, start, changes)


def epochs_in(sources: Iterable[ReplicaLog | Noted]) -> set[int]:
    """Every epoch in a log or in an entry."""
    return {epoch for each in sources for epoch, _ in _first_of_each(each)}


def unexplained(partition: PartitionName, found: Sequence[Anomaly], changes: PartitionChanges) -> str | None:
    """Why an epoch without an election proves nothing; None if the metadata log has all elections."""
    if not found or changes.is_complete(partition, NEVER):
        return None
    return f"the metadata log does not have all elections of {partition}, and {found[0].summary}"


def _first_of_each(source: ReplicaLog | Noted) -> Entries:
    if isinstance(source, Noted):
        return source.entries
    epochs, rows = np.unique(source["leader_epoch"], return_index=True)
    return list(zip(epochs.tolist(), source["base_offset"][rows].tolist(), strict=True))


def _unelected(source: ReplicaLog | Noted, epoch: int, start: int, changes: PartitionChanges) -> Anomaly:
    which = "has it in the leader epoch checkpoint" if isinstance(source, Noted) else "has a batch of it"
    elected = sorted(
        {state.leader_epoch for state in changes.states[source.partition] if state.leader != NOBODY}
    )
    return EPOCH_WITHOUT_ELECTION.found(
        f"{source.partition}: {source.node} has leader epoch {epoch} at offset {start}, but there was "
        "no election for it",
        subject=f"{source.partition}@{start}",
        time_ns=source.time_ns,
        witness=(source.op, *(() if changes.op is None else (changes.op,))),
        explanation=(
            f"{source.node} {which} at offset {start}.",
            f"The metadata log has leaders in the epochs {', '.join(map(str, elected)) or 'none'}.",
        ),
    )


def _contradicted(noted: Noted, offset: int, lines: Sequence[str], log: ReplicaLog | None = None) -> Anomaly:
    sources: tuple[Noted | ReplicaLog, ...] = (noted,) if log is None else (log, noted)
    return EPOCH_NOTE_CONTRADICTED.found(
        f"{noted.partition} on {noted.node}: its leader epoch checkpoint is wrong at offset {offset}",
        subject=f"{noted.partition}@{offset}",
        time_ns=max(each.time_ns for each in sources),
        witness=tuple(each.op for each in sources),
        explanation=lines,
    )


def _epochs_at(entries: Entries, offsets: Integers) -> Integers:
    """The epoch that each offset belongs to, by ascending entries; `NONE` below the first entry."""
    epochs = np.array([NONE, *(epoch for epoch, _ in entries)], dtype=np.int64)
    starts = np.array([start for _, start in entries], dtype=np.int64)
    return epochs[np.searchsorted(starts, offsets, side="right")]


def _entry_text(entry: tuple[int, int]) -> str:
    return f"epoch {entry[0]} from offset {entry[1]} on"
