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

from collections.abc import Mapping, Sequence

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.holes import with_hole
from checkers.evidence.leader_epochs import Noted, checkpoints_of, starts_of
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.replicas import Batches, ReplicaLog, batches_of
from checkers.history.operations import History
from checkers.history.setup import Setup, recorded_setup
from checkers.history.sources import Source, lacking
from checkers.logs.replicas.anomalies import ANOMALIES, NEEDS, REPLICA_DIVERGENCE, SEQUENCE_GAP
from checkers.logs.replicas.client_results import find_against_clients
from checkers.logs.replicas.committed import committed_ends, meant_partitions
from checkers.logs.replicas.decided import find_against_decisions
from checkers.logs.replicas.deleted_records import find_returned
from checkers.logs.replicas.figures import FIGURES
from checkers.logs.replicas.findings import Findings
from checkers.logs.replicas.flushed import find_flushed_lost
from checkers.logs.replicas.judging_partitions import (
    Evidence,
    PartitionEvidence,
    judge_own_topic,
    judge_partition,
    missing_text,
)
from checkers.logs.replicas.kept_starts import find_not_kept
from checkers.logs.replicas.left import members_of
from checkers.logs.replicas.limits import Limits, limits_of
from checkers.logs.replicas.metadata_logs import compare_metadata_logs
from checkers.logs.replicas.missing import find_missing
from checkers.logs.replicas.single_log import find_alone, open_transactions
from checkers.logs.replicas.stray_logs import find_stray
from checkers.logs.replicas.transaction_epochs import find_by_epochs
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

CHECKER = "replicas"
"""Name of the checker, as in verdicts."""


def check_replicas(history: History) -> CheckerResult:
    """Judge the contents of the nodes' disks at the end.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError, ValueError: the history is not as docs/histories.md says.
    """
    batches, meant = batches_of(history), recorded_setup(history)
    findings, limits = Findings(), limits_of(history, meant)
    for log in (*batches.logs, *batches.metadata_logs):
        _judge_alone(log, findings)
    missing = lacking(history, Source.DISKS)
    findings.doubts += [] if missing is None else [missing]
    judged = _judge_partitions(history, meant, batches, limits, findings)
    _judge_by_other_records(history, batches, limits, judged, findings)
    _judge_metadata(history, batches.metadata_logs, meant, findings)
    result = result_of(
        CHECKER,
        [_explained(history, anomaly) for anomaly in findings.anomalies],
        counts=dict(findings.counts),
        figures={name: findings.figures[name] for name in FIGURES},
        unknown_because=findings.unknown_because(),
        exercised=bool(batches.logs or batches.metadata_logs or findings.figures["deletions"]),
    )
    return msgspec.structs.replace(result, epoch_starts=starts_of(history))


def _explained(history: History, anomaly: Anomaly) -> Anomaly:
    """An anomaly, with its cause if that is a hole in a log that a broker recovered after a power loss."""
    if anomaly.id not in (REPLICA_DIVERGENCE.id, SEQUENCE_GAP.id):
        return anomaly
    return with_hole(history, anomaly, after=int(anomaly.id == SEQUENCE_GAP.id))


def _judge_alone(log: ReplicaLog, findings: Findings) -> None:
    findings.take(find_alone(log))
    findings.figures.update(
        logs_read=int(log.readable),
        bytes_read=log.seen.bytes,
        batches_read=len(log),
        open_transactions=len(open_transactions(log)),
        torn_tails=int(log.seen.tail is not None),
    )


def _judge_partitions(
    history: History, meant: Setup, batches: Batches, limits: Limits, findings: Findings
) -> dict[PartitionName, ReplicaLog]:
    """Judge every partition, also of Kafka's internal topics.

    Returns the logs that clients' results can be compared with.
    """
    ends, synced, notes = committed_ends(history), members_of(history, meant), _notes_of(history)
    known = Evidence(history, meant, batches, limits, partition_changes(history), has_notes=bool(notes))
    judged: dict[PartitionName, ReplicaLog] = {}
    there = frozenset(batches.partitions)
    wanted = there | meant_partitions(history)
    for name in sorted(wanted):
        partition = PartitionEvidence(name, ends.get(name), synced.get(name), notes.get(name, {}))
        if name not in there and not partition.notes and partition.end is None:
            findings.doubts.append(missing_text("the committed end", name))
            continue  # in a damaged history, nothing may be known of many partitions
        log = judge_partition(known, partition, findings)
        if log is not None:
            judged[name] = log
    for name in sorted(notes.keys() - wanted):
        judge_own_topic(known, name, list(notes[name].values()), findings)
    return judged


def _notes_of(history: History) -> dict[PartitionName, dict[str, Noted]]:
    """The checkpoints of leader epochs, by partition and node."""
    notes: dict[PartitionName, dict[str, Noted]] = {}
    for noted in checkpoints_of(history):
        notes.setdefault(noted.partition, {})[noted.node] = noted
    return notes


def _judge_by_other_records(
    history: History,
    batches: Batches,
    limits: Limits,
    judged: Mapping[PartitionName, ReplicaLog],
    findings: Findings,
) -> None:
    """Compare the disks with clients' results, with coordinators' decisions and with what nodes logged."""
    figures = findings.figures
    findings.add(find_against_clients(history, judged, figures))
    findings.add(find_by_epochs(history, judged, limits, findings.anomalies, figures))
    findings.add(find_against_decisions(history, batches, judged, limits, figures))
    for find in (find_returned, find_not_kept, find_stray, find_missing, find_flushed_lost):
        findings.add(find(history, figures))


def _judge_metadata(history: History, logs: Sequence[ReplicaLog], meant: Setup, findings: Findings) -> None:
    """Compare every node's metadata log with that of the leader that reported the committed end."""
    compared = compare_metadata_logs(history, logs, meant)
    findings.doubts += compared.doubts
    findings.take(compared.gaps)
    findings.add(compared.anomalies)
    findings.figures["metadata_logs_compared"] += len(compared.batches)
    findings.figures["metadata_batches_compared"] += sum(compared.batches)


ENTRY = Entry(CHECKER, check_replicas, ANOMALIES, NEEDS)
