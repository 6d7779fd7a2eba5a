"""Logs that are shorter after a power loss than their brokers had flushed them: ``flushed-lost``.

The probe of a power loss reads each recovery point and the end of its log from the same disk, before the
broker starts again.  A broker first syncs records and then writes the recovery point.  When it truncates a
log, it lowers both.  So nothing permits an end below the recovery point: neither an unclean election, nor
another fault, nor the fact that acknowledged records need not be synced.  The reader leaves out data that a
disk may have from two different times (`harness.kafka.segments.recovery_points`).
"""

from collections import Counter
from collections.abc import Iterator

from checkers.columns.tables import PartitionName
from checkers.history.faults import LogFlushed, recorded_fault
from checkers.history.operations import OK, History, Operation
from checkers.logs.replicas.anomalies import FLUSHED_LOST
from checkers.verdict.verdict import Anomaly

_PROBED = "flushed"
"""Field of the probe of a power loss."""


def find_flushed_lost(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """Find the logs that end below their recovery points, one finding for each log and power loss.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        figures: counts the recovery points that were read.

    Raises:
        msgspec.ValidationError: a fault is not as docs/histories.md says.
    """
    for operation in history.of("inject"):
        fault = recorded_fault(operation) if operation.type is OK else None
        if fault is not None and _PROBED in (fault.probe or {}):
            flushed = fault.of_disk.flushed
            figures["recovery_points"] += len(flushed)
            node = ", ".join(fault.targets)
            yield from (_found(operation, node, log) for log in flushed if log.end < log.recovery_point)


def _found(operation: Operation, node: str, log: LogFlushed) -> Anomaly:
    partition = PartitionName(log.topic, log.partition)
    return FLUSHED_LOST.found(
        f"{partition} on {node}: after a loss of power the log ends at {log.end}, below its recovery point "
        f"{log.recovery_point}",
        subject=f"{partition}@{log.end}",
        time_ns=operation.time_ns,
        witness=(operation.index,),
        explanation=(
            f"{operation.key}: {node} lost power, and what was not synced.",
            f"Its recovery-point-offset-checkpoint has {log.recovery_point} for {partition}.",
            f"The last whole batch of the log on the same disk ends before {log.end}.",
        ),
    )
