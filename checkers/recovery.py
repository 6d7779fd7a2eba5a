"""The recovery checker: after healing every partition works again in time; how long each fault was felt."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from checkers.faults import FOREVER_NS, FaultWindow, fault_windows
from checkers.history import History, Operation, OperationType
from checkers.kinds import AnomalyKind, by_id
from checkers.sends import Acknowledged, Integers, acknowledged
from checkers.setup import Setup, setup_of
from checkers.verdict import Anomaly, CheckerResult, result_of

CHECKER = "recovery"
NS_PER_MS = 1_000_000

NOT_RECOVERED = AnomalyKind(
    id="not-recovered",
    meaning="A partition had no leader, no full ISR or no acknowledged write within the bound after healing.",
    guarantee="Once healed, every partition elects a leader, its replicas rejoin, and it takes writes.",
    source="Kafka documentation, Design, Replication: replicas rejoin the ISR once they have caught up",
)
ANOMALIES = by_id(NOT_RECOVERED)


class RecoveredPartition(msgspec.Struct, frozen=True):
    """How one partition stood at the end of recovery; fields as in docs/histories.md."""

    topic: str
    partition: int
    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    write_acked: bool

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it has not got back, in words; empty if it has recovered."""
        missing = sorted(set(self.replicas) - set(self.isr))
        return (
            *(("no leader",) if self.leader is None else ()),
            *((f"replicas {missing} outside the ISR",) if missing else ()),
            *(() if self.write_acked else ("no acknowledged write",)),
        )


class Recovery(msgspec.Struct, frozen=True):
    """Result of a recover operation; fields as in docs/histories.md."""

    bound_ms: float
    took_ms: float
    partitions: tuple[RecoveredPartition, ...]


class Gaps(NamedTuple):
    """Stretches between successive acknowledgements of one partition; arrays of one shape.

    Attributes:
        names: names that `partition` points into.
        partition: place of the partition's name.
        start_ns: the earlier acknowledgement.
        end_ns: the later one.
    """

    names: tuple[str, ...]
    partition: Integers
    start_ns: Integers
    end_ns: Integers


def check_recovery(history: History) -> CheckerResult:
    """Judge whether all partitions recovered, and measure how long none of their writes was acknowledged.

    Unknown unless a recover operation told how each partition of the setup stood.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    ended = [o for o in history.operations if o.f == "recover" and o.type is not OperationType.INVOKE]
    told = [operation for operation in ended if "partitions" in (operation.value or {})]
    recoveries = [(operation, msgspec.convert(operation.value, Recovery)) for operation in told]
    found = [anomaly for operation, recovery in recoveries for anomaly in _judged(operation, recovery)]
    took_ms = max((recovery.took_ms for _, recovery in recoveries), default=None)
    gaps = gaps_of(acknowledged(history))
    return result_of(
        CHECKER,
        found,
        figures={
            "took_ms": took_ms,
            "unavailable_ms_max": _longest(gaps, 0, FOREVER_NS)["unavailable_ms"],
            "faults": unavailability(gaps, fault_windows(history)),
        },
        unknown_because=_doubt(ended, recoveries, setup_of(history)),
    )


def _judged(operation: Operation, recovery: Recovery) -> Iterable[Anomaly]:
    """One finding for every partition that lacks something; one for the cluster if it only took too long."""
    late = [partition for partition in recovery.partitions if partition.lacks]
    for partition in late:
        name = f"{partition.topic}/{partition.partition}"
        yield NOT_RECOVERED.found(
            f"{name} had {', '.join(partition.lacks)} {recovery.took_ms:.0f} ms after healing;"
            f" {recovery.bound_ms:.0f} ms are allowed.",
            subject=name,
            time_ns=operation.time_ns,
            witness=(operation.index,),
            explanation=(
                f"leader {partition.leader}, ISR {list(partition.isr)}, replicas {list(partition.replicas)}.",
            ),
        )
    if not late and recovery.took_ms > recovery.bound_ms:
        yield NOT_RECOVERED.found(
            f"The last partition recovered {recovery.took_ms:.0f} ms after healing;"
            f" {recovery.bound_ms:.0f} ms are allowed.",
            time_ns=operation.time_ns,
            witness=(operation.index,),
        )


def _doubt(
    ended: Sequence[Operation], recoveries: Sequence[tuple[Operation, Recovery]], setup: Setup | None
) -> str | None:
    if not ended:
        return "no recover operation was completed"
    if not recoveries:
        return f"recovery told nothing of the partitions: {ended[-1].error or 'no reason given'}"
    if not all(recovery.partitions for _, recovery in recoveries):
        return "recovery looked at no partition"
    expected = () if setup is None else setup.partitions
    for _, recovery in recoveries:
        seen = {(state.topic, state.partition) for state in recovery.partitions}
        unseen = [f"{topic}/{number}" for topic, number in expected if (topic, number) not in seen]
        if unseen:
            return f"recovery did not look at {', '.join(unseen)}"
    unsure = [operation for operation, _ in recoveries if operation.type is not OperationType.OK]
    return f"recovery ended without success: {unsure[0].error or 'no reason given'}" if unsure else None


def gaps_of(sends: Acknowledged) -> Gaps:
    """All stretches between the completions of successive acknowledged records of each partition."""
    width = int(sends.partition.max(initial=0)) + 1
    distinct, code = np.unique(sends.topic * width + sends.partition, return_inverse=True)
    order = np.lexsort((sends.time_ns, code))
    code, time_ns = code[order], sends.time_ns[order]
    same = code[1:] == code[:-1]
    names = tuple(f"{sends.topics[number // width]}/{number % width}" for number in distinct.tolist())
    return Gaps(names, code[1:][same], time_ns[:-1][same], time_ns[1:][same])


def unavailability(gaps: Gaps, windows: Iterable[FaultWindow]) -> list[dict[str, Any]]:
    """For each fault the longest gap of any partition that overlaps it.

    Returns:
        One ``{"id", "kind", "targets", "partition", "unavailable_ms"}`` a fault, in order of injection;
        partition and length are null where no gap overlaps.
    """
    return [
        {"id": window.id, "kind": window.kind, "targets": list(window.targets)}
        | _longest(gaps, window.invoked_ns, window.end_ns)
        for window in windows
    ]


def _longest(gaps: Gaps, start_ns: int, end_ns: int) -> dict[str, Any]:
    overlapping = (gaps.start_ns < end_ns) & (gaps.end_ns > start_ns)
    if not overlapping.any():
        return {"partition": None, "unavailable_ms": None}
    at = int(np.argmax(np.where(overlapping, gaps.end_ns - gaps.start_ns, -1)))
    length_ns = int(gaps.end_ns[at] - gaps.start_ns[at])
    return {"partition": gaps.names[int(gaps.partition[at])], "unavailable_ms": length_ns / NS_PER_MS}
