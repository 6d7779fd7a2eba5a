"""Judges the logs and checkpoints of one partition after the other, for the replicas checker."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.leader_epochs import Noted
from checkers.evidence.partition_changes import PartitionChanges
from checkers.evidence.replicas import Batches, ReplicaLog
from checkers.history.operations import History
from checkers.history.setup import Setup
from checkers.logs.replicas.aborted import find_in_indexes, judged_logs, unread_indexes
from checkers.logs.replicas.ahead import find_ahead, unanswered_before
from checkers.logs.replicas.anomalies import REPLICA_DIVERGENCE
from checkers.logs.replicas.committed import End, InSync
from checkers.logs.replicas.compacted import find_in_compacted
from checkers.logs.replicas.comparison import (
    ComparedRange,
    batches_within,
    find_divergence,
    find_late,
    find_short,
)
from checkers.logs.replicas.epochs import (
    epochs_in,
    find_contradicted,
    find_different_starts,
    find_unelected,
    judged_rows,
    unexplained,
)
from checkers.logs.replicas.findings import Findings
from checkers.logs.replicas.forgotten_producers import find_forgotten, unanswered
from checkers.logs.replicas.gaps import find_missing_offsets, find_wrong_numbers, produced
from checkers.logs.replicas.left import find_in_left, is_due
from checkers.logs.replicas.limits import Limits
from checkers.logs.replicas.own_topics import find_in_own


class Evidence(NamedTuple):
    """What all partitions are judged by.

    Attributes:
        history: the history of the run.
        meant: its setup.
        batches: the logs of all nodes.
        limits: what the configuration prevents from being judged.
        changes: partition changes in the metadata log.
        has_notes: whether checkpoints of leader epochs were read.
    """

    history: History
    meant: Setup
    batches: Batches
    limits: Limits
    changes: PartitionChanges
    has_notes: bool


class PartitionEvidence(NamedTuple):
    """What is known of one partition.

    Attributes:
        name: its topic and number.
        end: the committed end; None if it is unknown.
        synced: the in-sync replicas; None if they are unknown.
        notes: checkpoints of leader epochs, by node.
    """

    name: PartitionName
    end: End | None
    synced: InSync | None
    notes: Mapping[str, Noted]


def judge_partition(known: Evidence, partition: PartitionEvidence, findings: Findings) -> ReplicaLog | None:
    """Judge a partition.

    Returns its log that clients' results can be compared with: the leader's, if it is sound.
    """
    name, limits, synced = partition.name, known.limits, partition.synced
    _judge_gaps(known, name, partition.end, findings)
    _judge_elections(known, name, list(partition.notes.values()), findings)
    logs = _judge_in_sync(known, partition, findings)
    if not logs or partition.end is None or synced is None:
        return None
    sound = name.topic not in limits.compacted and not logs[0].seen.corrupt
    if sound:
        _judge_left(known, synced, logs[0], findings)
    if known.has_notes:
        _judge_notes(logs, partition.notes, limits, _committed(partition.end, synced), findings)
    return logs[0] if sound else None


def judge_own_topic(known: Evidence, name: PartitionName, notes: Sequence[Noted], findings: Findings) -> None:
    """Judge the checkpoints of a partition that only brokers write to."""
    _judge_elections(known, name, notes, findings)
    findings.figures["own_epoch_notes"] += sum(len(noted.entries) for noted in notes)
    findings.add(find_in_own(known.history, notes, known.meant, known.limits))


def _judge_in_sync(known: Evidence, of_it: PartitionEvidence, findings: Findings) -> list[ReplicaLog]:
    """Compare the in-sync replicas of one partition.

    Returns their logs, the leader's first.
    """
    history, batches, limits = known.history, known.batches, known.limits
    partition, end, synced = of_it.name, of_it.end, of_it.synced
    if end is None or synced is None:
        missing = "the committed end" if end is None else "the in-sync replicas"
        findings.doubts.append(missing_text(missing, partition))
        return []
    findings.figures["left_isr"] += len(synced.left)
    found = {log.node: log for log in batches.of(partition) if log.readable}
    findings.doubts += [_unread(batches, partition, node) for node in synced.nodes if node not in found]
    logs = _leader_first([found[node] for node in synced.nodes if node in found], synced.leader)
    logs = _of_one_topic(logs, findings)
    reason = f"{', '.join(synced.nodes)} were in sync; a reader at the end listed {end.offset} as the end."
    committed = ComparedRange(0, end.offset, (synced.op, end.op), reason)
    findings.add(find_short(logs, committed))
    if partition.topic not in limits.retained:
        findings.add(find_late(logs, committed._replace(first=end.start)))
    if not limits.forgetting:
        findings.doubts += [*unanswered(history, logs), *unanswered_before(history, logs)]
        findings.add(find_forgotten(history, logs, committed, findings.figures))
        compacted = partition.topic in limits.compacted
        findings.add(find_ahead(history, logs, committed, findings.figures, compacted=compacted))
    _judge_indexes(history, logs, limits, committed._replace(first=end.start), findings)
    if partition.topic in limits.compacted:
        findings.figures["compacted_partitions"] += 1
        if logs and not logs[0].seen.corrupt:
            findings.add(find_in_compacted(history, logs, committed, findings.figures))
        return logs
    findings.figures["partitions_compared"] += len(logs) > 1
    for log in logs[1:]:
        stretch = _shared(logs[0], log, committed)
        findings.figures["batches_compared"] += batches_within(log, stretch)
        findings.add(find_divergence(REPLICA_DIVERGENCE, logs[0], log, stretch))
    return logs


def _judge_indexes(
    history: History,
    logs: Sequence[ReplicaLog],
    limits: Limits,
    committed: ComparedRange,
    findings: Findings,
) -> None:
    """Compare the indexes of aborted transactions of in-sync replicas with their logs."""
    begun = committed._replace(first=max([committed.first, *(log.start for log in logs)]))
    judged = judged_logs(logs, limits)
    findings.doubts += unread_indexes(history, judged, limits, begun)
    findings.take(find_in_indexes(history, judged, limits, begun, findings.figures))


def _judge_left(known: Evidence, synced: InSync, reference: ReplicaLog, findings: Findings) -> None:
    """Compare replicas that left the ISR after recovery with one that stayed in it."""
    for log in known.batches.of(reference.partition):
        same = log.readable and log.seen.topic_id == reference.seen.topic_id
        left = same and log.node in synced.left
        if left and is_due(known.history, known.meant, log.partition, log.node, synced.op):
            findings.figures["left_compared"] += 1
            findings.add(find_in_left(known.history, synced, reference, log))


def _judge_gaps(known: Evidence, partition: PartitionName, end: End | None, findings: Findings) -> None:
    """Find offsets and sequence numbers that are missing in any log."""
    limits = known.limits
    if partition.topic in limits.compacted:
        return
    logs = [log for log in known.batches.of(partition) if log.readable]
    if not limits.forgetting:
        findings.take(find_wrong_numbers(logs))
        findings.figures["producer_batches"] += sum(len(produced(log).rows) for log in logs)
    if partition.topic not in limits.retained:
        synced = [log for log in logs if log.node not in limits.unsynced]
        findings.take(find_missing_offsets(synced, 0 if end is None else end.start))
        findings.figures["neighbours_compared"] += sum(max(len(log) - 1, 0) for log in synced)


def _judge_elections(
    known: Evidence, partition: PartitionName, notes: Sequence[Noted], findings: Findings
) -> None:
    """Find leader epochs that no election started."""
    meant, changes = known.meant, known.changes
    logs = [
        log for log in known.batches.of(partition) if meant.is_of_topic(partition.topic, log.seen.topic_id)
    ]
    if partition not in changes.states:
        return
    found = list(find_unelected(partition, [*logs, *notes], changes))
    findings.figures["epochs_traced"] += len(epochs_in([*logs, *notes]))
    doubt = unexplained(partition, found, changes)
    if doubt is None:
        findings.add(found)
    else:
        findings.doubts.append(doubt)


def _judge_notes(
    logs: Sequence[ReplicaLog],
    notes: Mapping[str, Noted],
    limits: Limits,
    committed: ComparedRange,
    findings: Findings,
) -> None:
    """Compare the leader epochs that in-sync replicas stored with their batches, and with the leader's."""
    partition = logs[0].partition
    reference = notes.get(logs[0].node)
    for log in logs:
        noted = notes.get(log.node)
        if noted is None:
            if len(log):
                findings.doubts.append(
                    f"no leader epoch checkpoint of {log.node} for {partition} was recorded"
                )
            continue
        if log.node in limits.unsynced:
            continue
        begins = (
            noted.entries[0][1] if noted.entries and partition.topic in limits.retained else committed.first
        )
        stretch = committed._replace(first=begins)
        findings.add(find_contradicted(log, noted, stretch))
        findings.figures["epoch_notes"] += len(noted.entries)
        findings.figures["epoch_batches"] += len(judged_rows(log, stretch))
        if reference is not None and partition.topic not in limits.compacted:
            findings.add(find_different_starts(reference, noted, committed))


def _committed(end: End, synced: InSync) -> ComparedRange:
    """The offsets whose leader epochs in-sync replicas store."""
    reason = f"{', '.join(synced.nodes)} were in sync; {end.offset} was committed."
    return ComparedRange(end.start, end.offset, (synced.op, end.op), reason)


def _shared(left: ReplicaLog, right: ReplicaLog, committed: ComparedRange) -> ComparedRange:
    """The committed range that both logs must have."""
    first, end = max(left.start, right.start), min(committed.end, left.end, right.end)
    return committed._replace(first=first, end=end)


def _leader_first(logs: Sequence[ReplicaLog], leader: str | None) -> list[ReplicaLog]:
    return sorted(logs, key=lambda log: log.node != leader)


def _of_one_topic(logs: Sequence[ReplicaLog], findings: Findings) -> list[ReplicaLog]:
    """Logs with the topic id of the first log.

    The same name with another id is another topic.
    """
    kept = [log for log in logs if log.seen.topic_id == logs[0].seen.topic_id]
    findings.doubts += [
        f"{log.node} has {log.partition} of another topic with that name" for log in logs if log not in kept
    ]
    return kept


def missing_text(what: str, partition: PartitionName) -> str:
    """Say what the history lacks about a partition."""
    return f"the history does not have {what} of {partition}"


def _unread(batches: Batches, partition: PartitionName, node: str) -> str:
    errors = [log.seen.error for log in batches.of(partition) if log.node == node]
    return f"the log of {partition} on {node} was not read: {errors[0] if errors else 'nothing was recorded'}"
