"""The replicas checker: judges each log on disk by itself, and all logs of a partition together.

1.  Every log by itself (`single_log`): ``corrupt-batch``, ``overlapping-batches``,
   ``leader-epoch-regression``, ``duplicate-batch``; and gaps in it (`gaps`): ``offset-gap``,
   ``sequence-gap``, ``producer-epoch-regression``, ``coordinator-epoch-regression``.
2.  The logs of the in-sync replicas (`comparison`), each compared with the leader's, from the higher start to
    the end that final reads listed: ``replica-divergence``; a log that ends below that end:
    ``short-replica``. Logs of replicas that left the ISR after recovery, up to the offset that was committed
    then (`left`).
3.  The metadata logs of all nodes, as far as they must be equal (`metadata_logs`): ``metadata-divergence``;
   and missing offsets in one of them: ``offset-gap``.
4.  The leader epochs in replicas' checkpoints and batches (`epochs`): ``epoch-note-contradicted``,
   ``epoch-start-divergence``, ``epoch-without-election``; also those of Kafka's internal topics
   (`own_topics`).
5.  Clients' results (`client_results`): of final reads (`returned`), ``read-not-on-disk``,
   ``on-disk-not-read``, ``transaction-without-marker``; of transactions' ends (`markers`),
   ``marker-against-answer``, ``markers-differ``, ``marker-shared``; of deletions of records
   (`deleted_records`), ``deleted-records-returned``, which needs no disk; and whether disks kept these
   deletions (`kept_starts`), ``deletion-not-kept``.
6.  Compacted topics, whose batches each broker rewrites by itself (`compacted`): ``replica-divergence`` if
   compaction does not explain the difference, ``compacted-away``, ``compacted-early``,
   ``compacted-returned``, ``on-disk-not-read``, ``transaction-without-marker``; and tombstones
   (`deleted_keys`), ``deleted-key-returned``.
7. Producers that a broker does not know although its log has their batches (`forgotten_producers`),
   ``producer-forgotten``, and producers for which it knows a later number than its log has (`ahead`),
   ``producer-ahead``.
8. Logs of topics that were removed long ago, or of partitions that are on other brokers (`stray_logs`),
   ``stray-replica``; and logs that a broker must have and has not (`missing`), ``missing-replica``.
9. Replicas' indexes of aborted transactions against their logs (`aborted`), ``abort-not-indexed`` and
   ``indexed-in-error``.
10. Transactions by the epochs of their batches and markers (`transaction_epochs`),
   ``marker-of-another-transaction``, ``transaction-epoch-shared``, ``marker-shared``.
11. Markers against the decisions of coordinators (`decided`), ``marker-without-decision`` and
   ``completed-without-marker``.
12. Flushed parts of logs after a power loss (`flushed`), ``flushed-lost``, which needs no disk.

Legal differences are: starts of logs (retention, DeleteRecords, snapshots), records above the committed end,
records that compaction removes, and out-of-sync replicas.  Without required evidence the result is unknown.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.leader_epochs import Noted, checkpoints_of, starts_of
from checkers.evidence.partition_changes import PartitionChanges, partition_changes
from checkers.evidence.replicas import Batches, ReplicaLog, batches_of
from checkers.history.operations import History
from checkers.history.setup import Setup, recorded_setup
from checkers.history.sources import Source, lacking
from checkers.logs.replicas.aborted import find_in_indexes, judged_logs, unread_indexes
from checkers.logs.replicas.ahead import find_ahead, unanswered_before
from checkers.logs.replicas.anomalies import ANOMALIES, NEEDS, REPLICA_DIVERGENCE
from checkers.logs.replicas.client_results import find_against_clients
from checkers.logs.replicas.committed import End, InSync, committed_ends, meant_partitions
from checkers.logs.replicas.compacted import find_in_compacted
from checkers.logs.replicas.comparison import (
    ComparedRange,
    batches_within,
    find_divergence,
    find_late,
    find_short,
)
from checkers.logs.replicas.decided import find_against_decisions
from checkers.logs.replicas.deleted_records import find_returned
from checkers.logs.replicas.epochs import (
    epochs_in,
    find_contradicted,
    find_different_starts,
    find_unelected,
    judged_rows,
    unexplained,
)
from checkers.logs.replicas.figures import FIGURES
from checkers.logs.replicas.flushed import find_flushed_lost
from checkers.logs.replicas.forgotten_producers import find_forgotten, unanswered
from checkers.logs.replicas.gaps import find_missing_offsets, find_wrong_numbers, produced
from checkers.logs.replicas.kept_starts import find_not_kept
from checkers.logs.replicas.left import find_in_left, is_due, members_of
from checkers.logs.replicas.limits import Limits, limits_of
from checkers.logs.replicas.metadata_logs import compare_metadata_logs
from checkers.logs.replicas.missing import find_missing
from checkers.logs.replicas.own_topics import find_in_own
from checkers.logs.replicas.single_log import Finds, find_alone, open_transactions
from checkers.logs.replicas.stray_logs import find_stray
from checkers.logs.replicas.transaction_epochs import find_by_epochs
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

CHECKER = "replicas"
"""Name of the checker, as in verdicts."""
REASONS_NAMED = 3


@dataclass(slots=True)
class _Findings:
    """The findings so far.

    Attributes:
        anomalies: examples, in the order in which they were found.
        counts: exact numbers by id.
        figures: measured numbers.
        doubts: why some replicas could not be judged.
    """

    anomalies: list[Anomaly] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    doubts: list[str] = field(default_factory=list)

    def add(self, found: Iterator[Anomaly]) -> None:
        for anomaly in found:
            self.anomalies.append(anomaly)
            self.counts[anomaly.id] += 1

    def take(self, found: Iterator[Finds]) -> None:
        for finds in found:
            self.anomalies.extend(finds.examples)
            self.counts[finds.kind.id] += finds.number

    def unknown_because(self) -> str | None:
        if not self.doubts:
            return None
        rest = len(self.doubts) - REASONS_NAMED
        return "; ".join(self.doubts[:REASONS_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def check_replicas(history: History) -> CheckerResult:
    """Judge the contents of the nodes' disks at the end.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError, ValueError: the history is not as docs/histories.md says.
    """
    batches, meant = batches_of(history), recorded_setup(history)
    findings = _Findings()
    for log in (*batches.logs, *batches.metadata_logs):
        _judge_alone(log, findings)
    missing = lacking(history, Source.DISKS)
    findings.doubts += [] if missing is None else [missing]
    ends, synced = committed_ends(history), members_of(history, meant)
    limits, changes = limits_of(history, meant), partition_changes(history)
    notes: dict[PartitionName, dict[str, Noted]] = {}
    for noted in checkpoints_of(history):
        notes.setdefault(noted.partition, {})[noted.node] = noted
    judged: dict[PartitionName, ReplicaLog] = {}
    there = frozenset(batches.partitions)
    wanted = there | meant_partitions(history)
    for partition in sorted(wanted):
        end, members = ends.get(partition), synced.get(partition)
        of_it = notes.get(partition, {})
        if partition not in there and not of_it and end is None:
            findings.doubts.append(_missing_text("the committed end", partition))
            continue  # in a damaged history, nothing may be known of many partitions
        _judge_gaps(partition, batches, limits, end, findings)
        _judge_elections(partition, batches, list(of_it.values()), (meant, changes), findings)
        logs = _judge_partition(history, batches, limits, (partition, end, members), findings)
        if logs and partition.topic not in limits.compacted and not logs[0].seen.corrupt:
            judged[partition] = logs[0]
            _judge_left(history, meant, synced[partition], (logs[0], batches), findings)
        if notes and logs and end is not None and members is not None:
            _judge_notes(logs, of_it, limits, (end, members), findings)
    for partition in sorted(notes.keys() - wanted):
        of_it = notes[partition]
        _judge_elections(partition, batches, list(of_it.values()), (meant, changes), findings)
        findings.figures["own_epoch_notes"] += sum(len(noted.entries) for noted in of_it.values())
        findings.add(find_in_own(history, list(of_it.values()), meant, limits))
    findings.add(find_against_clients(history, judged, findings.figures))
    findings.add(find_by_epochs(history, judged, limits, findings.anomalies, findings.figures))
    findings.add(find_against_decisions(history, batches, judged, limits, findings.figures))
    findings.add(find_returned(history, findings.figures))
    findings.add(find_not_kept(history, findings.figures))
    findings.add(find_stray(history, findings.figures))
    findings.add(find_missing(history, findings.figures))
    findings.add(find_flushed_lost(history, findings.figures))
    _judge_metadata(history, batches.metadata_logs, meant, findings)
    result = result_of(
        CHECKER,
        findings.anomalies,
        counts=dict(findings.counts),
        figures={name: findings.figures[name] for name in FIGURES},
        unknown_because=findings.unknown_because(),
        exercised=bool(batches.logs or batches.metadata_logs or findings.figures["deletions"]),
    )
    return msgspec.structs.replace(result, epoch_starts=starts_of(history))


def _judge_alone(log: ReplicaLog, findings: _Findings) -> None:
    findings.take(find_alone(log))
    findings.figures.update(
        logs_read=int(log.readable),
        bytes_read=log.seen.bytes,
        batches_read=len(log),
        open_transactions=len(open_transactions(log)),
        torn_tails=int(log.seen.tail is not None),
    )


def _judge_partition(
    history: History,
    batches: Batches,
    limits: Limits,
    known: tuple[PartitionName, End | None, InSync | None],
    findings: _Findings,
) -> list[ReplicaLog]:
    """Compare the in-sync replicas of one partition.

    Returns their logs, the leader's first.
    """
    partition, end, synced = known
    if end is None or synced is None:
        missing = "the committed end" if end is None else "the in-sync replicas"
        findings.doubts.append(_missing_text(missing, partition))
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
        findings.add(find_ahead(history, logs, committed, findings.figures))
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
    findings: _Findings,
) -> None:
    """Compare the indexes of aborted transactions of in-sync replicas with their logs."""
    begun = committed._replace(first=max([committed.first, *(log.start for log in logs)]))
    judged = judged_logs(logs, limits)
    findings.doubts += unread_indexes(history, judged, limits, begun)
    findings.take(find_in_indexes(history, judged, limits, begun, findings.figures))


def _judge_left(
    history: History,
    meant: Setup,
    synced: InSync,
    logs: tuple[ReplicaLog, Batches],
    findings: _Findings,
) -> None:
    """Compare replicas that left the ISR after recovery with one that stayed in it."""
    reference, batches = logs
    for log in batches.of(reference.partition):
        same = log.readable and log.seen.topic_id == reference.seen.topic_id
        left = same and log.node in synced.left
        if left and is_due(history, meant, log.partition, log.node, synced.op):
            findings.figures["left_compared"] += 1
            findings.add(find_in_left(history, synced, reference, log))


def _judge_gaps(
    partition: PartitionName, batches: Batches, limits: Limits, end: End | None, findings: _Findings
) -> None:
    """Find offsets and sequence numbers that are missing in any log."""
    if partition.topic in limits.compacted:
        return
    logs = [log for log in batches.of(partition) if log.readable]
    if not limits.forgetting:
        findings.take(find_wrong_numbers(logs))
        findings.figures["producer_batches"] += sum(len(produced(log).rows) for log in logs)
    if partition.topic not in limits.retained:
        synced = [log for log in logs if log.node not in limits.unsynced]
        findings.take(find_missing_offsets(synced, 0 if end is None else end.start))
        findings.figures["neighbours_compared"] += sum(max(len(log) - 1, 0) for log in synced)


def _judge_elections(
    partition: PartitionName,
    batches: Batches,
    notes: Sequence[Noted],
    against: tuple[Setup, PartitionChanges],
    findings: _Findings,
) -> None:
    """Find leader epochs that no election started."""
    meant, changes = against
    logs = [log for log in batches.of(partition) if meant.is_of_topic(partition.topic, log.seen.topic_id)]
    if partition not in changes.states:
        return
    found = list(find_unelected(partition, [*logs, *notes], changes))
    findings.figures["epochs_traced"] += len(epochs_in([*logs, *notes]))
    doubt = unexplained(partition, found, changes)
    if doubt is None:
        findings.add(iter(found))
    else:
        findings.doubts.append(doubt)


def _judge_notes(
    logs: Sequence[ReplicaLog],
    notes: Mapping[str, Noted],
    limits: Limits,
    known: tuple[End, InSync],
    findings: _Findings,
) -> None:
    """Compare the leader epochs that in-sync replicas stored with their batches, and with the leader's."""
    end, synced = known
    partition = logs[0].partition
    reason = f"{', '.join(synced.nodes)} were in sync; {end.offset} was committed."
    committed = ComparedRange(end.start, end.offset, (synced.op, end.op), reason)
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
        begins = noted.entries[0][1] if noted.entries and partition.topic in limits.retained else end.start
        stretch = committed._replace(first=begins)
        findings.add(find_contradicted(log, noted, stretch))
        findings.figures["epoch_notes"] += len(noted.entries)
        findings.figures["epoch_batches"] += len(judged_rows(log, stretch))
        if reference is not None and partition.topic not in limits.compacted:
            findings.add(find_different_starts(reference, noted, committed))


def _shared(left: ReplicaLog, right: ReplicaLog, committed: ComparedRange) -> ComparedRange:
    """The committed range that both logs must have."""
    first, end = max(left.start, right.start), min(committed.end, left.end, right.end)
    return committed._replace(first=first, end=end)


def _leader_first(logs: Sequence[ReplicaLog], leader: str | None) -> list[ReplicaLog]:
    return sorted(logs, key=lambda log: log.node != leader)


def _of_one_topic(logs: Sequence[ReplicaLog], findings: _Findings) -> list[ReplicaLog]:
    """Logs with the topic id of the first log.

    The same name with another id is another topic.
    """
    kept = [log for log in logs if log.seen.topic_id == logs[0].seen.topic_id]
    findings.doubts += [
        f"{log.node} has {log.partition} of another topic with that name" for log in logs if log not in kept
    ]
    return kept


def _missing_text(what: str, partition: PartitionName) -> str:
    return f"the history does not have {what} of {partition}"


def _unread(batches: Batches, partition: PartitionName, node: str) -> str:
    errors = [log.seen.error for log in batches.of(partition) if log.node == node]
    return f"the log of {partition} on {node} was not read: {errors[0] if errors else 'nothing was recorded'}"


def _judge_metadata(history: History, logs: Sequence[ReplicaLog], meant: Setup, findings: _Findings) -> None:
    """Compare every node's metadata log with that of the leader that reported the committed end."""
    compared = compare_metadata_logs(history, logs, meant)
    findings.doubts += compared.doubts
    findings.take(iter(compared.gaps))
    findings.add(iter(compared.anomalies))
    findings.figures["metadata_logs_compared"] += len(compared.batches)
    findings.figures["metadata_batches_compared"] += sum(compared.batches)


ENTRY = Entry(CHECKER, check_replicas, ANOMALIES, NEEDS)
