"""The in-sync replicas by the metadata log, and the records that a replica that left the ISR must have.

Brokers' views may be outdated, and a single view excludes a replica from all comparisons.  The metadata log
is more exact.  A replica that has been in the ISR since recovery ended has all committed records.

A replica that left the ISR later may lag behind.  It had all records that were committed when recovery ended
(Kafka documentation, Design, Replication), and keeps them as long as no fault hits it.  The last records that
were certainly committed then were acknowledged during recovery, when every partition had to acknowledge one.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NEVER, Columns, PartitionName, SendOutcome
from checkers.evidence.faults import fault_windows
from checkers.evidence.loading import columns_of
from checkers.evidence.partition_changes import PartitionChanges, partition_changes
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import History
from checkers.history.phases import Phase
from checkers.history.setup import Setup
from checkers.history.sources import Source, lacking
from checkers.logs.replicas.anomalies import REPLICA_DIVERGENCE
from checkers.logs.replicas.committed import InSync, in_sync
from checkers.logs.replicas.comparison import ComparedRange, find_divergence, find_short
from checkers.verdict.verdict import Anomaly


def members_of(history: History, meant: Setup) -> dict[PartitionName, InSync]:
    """The in-sync replicas at the end, by brokers' views and by the metadata log, which may overrule a view.

    If views are missing and the metadata log does not have a partition, its ISR is unknown, and the partition
    is left out.
    """
    changes = partition_changes(history)
    lost = lacking(history, Source.PARTITIONS) is not None
    found: dict[PartitionName, InSync] = {}
    for partition, known in in_sync(history, meant.names).items():
        if changes.is_complete(partition, NEVER):
            found[partition] = _by_log(partition, known, changes, meant, history.operations[known.op].time_ns)
        elif not lost:
            found[partition] = known
    return found


def committed_by(columns: Columns, partition: PartitionName, until_ns: int) -> int:
    """The known committed end of a partition at the end of recovery; 0 if nothing is known to be committed.

    Records count if they were acknowledged during recovery, with acks=all.
    """
    from_ns = columns.phases.get(Phase.RECOVER)
    if from_ns is None or partition not in columns.partitions:
        return 0
    sends = columns.sends
    here = sends.partition == columns.partitions.index(partition)
    then = (
        (sends.invoked_ns >= from_ns) & (sends.completed_ns <= until_ns) & (sends.outcome == SendOutcome.OK)
    )
    rows = np.flatnonzero(here & then)
    if columns.acks != "all":
        rows = rows[columns.is_strict(rows)]
    return int(sends.offset[rows].max(initial=-1)) + 1


def find_in_left(
    history: History, synced: InSync, reference: ReplicaLog, log: ReplicaLog
) -> Iterator[Anomaly]:
    """Find records that a replica which left the ISR after recovery lacks, or has with different content.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        synced: the replicas in sync when recovery ended.
        reference: the log of an in-sync replica.
        log: the log of the replica that left.
    """
    recovered = history.operations[synced.op]
    committed = committed_by(columns_of(history), log.partition, recovered.time_ns)
    reason = (
        f"{log.node} was in sync when recovery ended; {committed} was committed, and there was no "
        "later fault."
    )
    due = ComparedRange(max(reference.start, log.start), committed, (synced.op,), reason)
    yield from find_short([log], due)
    both = due._replace(end=min(committed, reference.end, log.end))
    yield from find_divergence(REPLICA_DIVERGENCE, reference, log, both)


def is_due(history: History, meant: Setup, partition: PartitionName, node: str, op: int) -> bool:
    """Whether a node certainly was in the ISR when recovery ended, and no fault hit it afterwards."""
    changes, at_ns = partition_changes(history), history.operations[op].time_ns
    was_hit = any(
        window.concerns(node) and window.overlaps(at_ns, NEVER) for window in fault_windows(history)
    )
    if was_hit or not changes.is_complete(partition, NEVER):
        return False
    states = changes.possible(partition, at_ns, at_ns)
    return all(node in {meant.names.get(number) for number in state.isr} for state in states)


def _by_log(
    partition: PartitionName, known: InSync, changes: PartitionChanges, meant: Setup, since_ns: int
) -> InSync:
    sets = [
        {meant.names.get(number, str(number)) for number in state.isr}
        for state in changes.possible(partition, since_ns, NEVER)
    ]
    always, at_last = set.intersection(*sets), sets[-1]
    nodes = tuple(sorted(always | (at_last & {*known.nodes})))
    before = {*known.nodes, *known.left}
    return known._replace(nodes=nodes, left=tuple(sorted(before - {*nodes})))
