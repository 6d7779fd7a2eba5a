"""Compares the results of clients with the disks: final reads, and ends of transactions."""

from collections import Counter
from collections.abc import Iterator, Mapping

from checkers.columns.tables import PartitionName
from checkers.evidence.loading import all_columns_of, columns_of
from checkers.evidence.replicas import ReplicaLog
from checkers.history.operations import OK, History
from checkers.licences import licences_of
from checkers.licences.decisions import decisions_of
from checkers.logs.replicas.markers import find_against_answers, find_differing, find_shared, marked_records
from checkers.logs.replicas.returned import (
    final_reads,
    find_not_on_disk,
    find_not_read,
    find_unended,
    offsets_compared,
    truncated_since,
)
from checkers.verdict.verdict import Anomaly


def find_against_clients(
    history: History, logs: Mapping[PartitionName, ReplicaLog], figures: Counter[str]
) -> Iterator[Anomaly]:
    """Find contradictions between clients' results and disks.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        logs: for each judged partition, the log of one in-sync replica; compacted partitions are left out.
        figures: counts the comparisons.
    """
    if logs and any(operation.type is OK for operation in history.of("final-read")):
        yield from _against_reads(history, logs, figures)
    if logs and history.of("txn"):
        yield from _against_ends(history, logs, figures)


def _against_reads(
    history: History, logs: Mapping[PartitionName, ReplicaLog], figures: Counter[str]
) -> Iterator[Anomaly]:
    columns = all_columns_of(history)
    for code, reads in final_reads(columns).items():
        log = logs.get(columns.partitions[code])
        if log is None:
            continue
        for read in reads:
            if not truncated_since(history, log.partition, read):
                figures.update(final_reads_compared=1, offsets_compared=offsets_compared(log, read))
                yield from find_not_on_disk(log, read)
                yield from find_not_read(log, read)
                yield from find_unended(log, read)


def _against_ends(
    history: History, logs: Mapping[PartitionName, ReplicaLog], figures: Counter[str]
) -> Iterator[Anomaly]:
    columns = columns_of(history)
    marked = marked_records(columns, intact_parts(history, logs), decisions_of(history))
    figures["markers_compared"] += len(marked.send)
    yield from find_against_answers(columns, marked)
    yield from find_differing(columns, marked)
    yield from find_shared(columns, marked)


def intact_parts(
    history: History, logs: Mapping[PartitionName, ReplicaLog]
) -> dict[PartitionName, ReplicaLog]:
    """The logs, each up to the lowest offset from which a permitted loss may have truncated it.

    A log is left out if a loss may have truncated it from any offset on.
    """
    licences = licences_of(history)
    found: dict[PartitionName, ReplicaLog] = {}
    for name, log in logs.items():
        events = (permit.event for permit in licences.of(name))
        kept = [event.above or 0 for event in events if event.below is None]
        if min(kept, default=1):
            found[name] = log.below(min(kept)) if kept else log
    return found


def never_truncated(
    history: History, logs: Mapping[PartitionName, ReplicaLog]
) -> dict[PartitionName, ReplicaLog]:
    """The logs of those partitions that no permitted loss can have truncated."""
    licences = licences_of(history)
    return {
        name: log
        for name, log in logs.items()
        if all(permit.event.below is not None for permit in licences.of(name))
    }
