"""The availability checker: measures write latency, and how long partitions accepted no writes; no anomalies.

Consecutive acknowledgements of one partition within `ISLAND_NS` form an island.  The time between two islands
is a gap, in which nothing was acknowledged; so is the time between the last island and the end of the load.
A partition without writes has gaps too.  The reader of the report must decide whether a fault caused a gap.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.columns.sends import AcknowledgedSends, Integers, acknowledged
from checkers.evidence.faults import FOREVER_NS, FaultWindow, fault_windows
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.phases import PHASE, Phase
from checkers.history.units import NS_PER_MS
from checkers.licences.facts import Facts
from checkers.verdict.entry import Entry
from checkers.verdict.needs import NOTHING
from checkers.verdict.verdict import CheckerResult, result_of

CHECKER = "availability"
"""Name of the checker, as in verdicts."""
ISLAND_NS = 1_000_000_000
"""Longest time between two acknowledgements that does not count as a gap."""
PARTITIONS_REPORTED = 20
"""Number of partitions whose gaps are reported, those with the longest gaps first."""


class Gaps(NamedTuple):
    """Periods in which a partition acknowledged nothing; arrays of one shape.

    Attributes:
        names: names of the partitions.
        partition: index of the partition in `names`.
        start_ns: the earlier acknowledgement.
        end_ns: the later one, or the end of the load.
    """

    names: tuple[str, ...]
    partition: Integers
    start_ns: Integers
    end_ns: Integers


def check_availability(history: History) -> CheckerResult:
    """Measure the availability of writes.

    The result is valid, or not exercised if no write was acknowledged.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    sends, windows = acknowledged(history), fault_windows(history)
    gaps = gaps_of(sends, load_end_ns(history), _written(history, sends.topics))
    invoked_ns, completed_ns = _calls(history.operations)
    during = [(invoked_ns <= w.end_ns) & (completed_ns >= w.invoked_ns) for w in windows]
    within = np.logical_or.reduce(during, axis=0) if during else np.zeros(len(invoked_ns), np.bool_)
    took_ns = completed_ns - invoked_ns
    faults = [
        outage | {"latency_ms": _quantiles(took_ns[felt])}
        for outage, felt in zip(unavailability(gaps, windows), during, strict=True)
    ]
    return result_of(
        CHECKER,
        [],
        figures={
            "unavailable_ms_max": _longest(gaps, 0, FOREVER_NS)["unavailable_ms"],
            "latency_in_faults_ms": _quantiles(took_ns[within]),
            "latency_out_of_faults_ms": _quantiles(took_ns[~within]),
            "faults": faults,
            "partitions": _by_partition(gaps),
        },
        exercised=bool(len(sends.time_ns) or len(invoked_ns)),
    )


def load_end_ns(history: History) -> int | None:
    """When the load ended, nanoseconds; None if there is no evidence of a load.

    The load continues through healing and recovery.  A run that was cut short ended it before the evidence
    was gathered; a run that was killed did not end it.
    """
    phases = {o.key: o.time_ns for o in reversed(history.of(PHASE))}
    last_ns = history.operations[-1].time_ns if Phase.LOAD in phases else None
    return phases.get(Phase.FINAL_READ, phases.get(Phase.EVIDENCE, last_ns))


def gaps_of(sends: AcknowledgedSends, over_ns: int | None, written: npt.NDArray[np.bool_]) -> Gaps:
    """Find the times between successive acknowledgements of each partition, and after the last one.

    Args:
        sends: all acknowledged records.
        over_ns: when the load ended, nanoseconds; None if unknown, in which case no gap after the last
            acknowledgement is found.
        written: one element for each topic, whether the load wrote to it until then.
    """
    width = int(sends.partition.max(initial=0)) + 1
    distinct, code = np.unique(sends.topic * width + sends.partition, return_inverse=True)
    order = np.lexsort((sends.time_ns, code))
    code, time_ns = code[order], sends.time_ns[order]
    names = tuple(f"{sends.topics[number // width]}/{number % width}" for number in distinct.tolist())
    last = np.append(code[1:] != code[:-1], np.ones(min(1, len(code)), np.bool_))
    later_ns = np.where(last, 0 if over_ns is None else over_ns, np.roll(time_ns, -1))
    meant = ~last | (written[sends.topic[order]] & (later_ns > time_ns))
    return Gaps(names, code[meant], time_ns[meant], later_ns[meant])


def _written(history: History, topics: Sequence[str]) -> npt.NDArray[np.bool_]:
    """For each topic, whether the load writes to it; only recovery writes to some topics."""
    untouched = {topic.name for topic in Facts(history).setup.topics if not topic.loaded}
    return np.array([topic not in untouched for topic in topics], dtype=np.bool_)


def unavailability(gaps: Gaps, windows: Iterable[FaultWindow]) -> list[dict[str, object]]:
    """For each fault, the longest gap of any partition that overlaps it.

    Returns:
        One ``{"id", "kind", "targets", "partition", "unavailable_ms"}`` for each fault, in order of
        injection; partition and length are null if no gap overlaps.
    """
    return [
        {"id": window.id, "kind": window.kind, "targets": list(window.targets)}
        | _longest(gaps, window.invoked_ns, window.end_ns)
        for window in windows
    ]


def _longest(gaps: Gaps, start_ns: int, end_ns: int) -> dict[str, object]:
    overlapping = (gaps.start_ns < end_ns) & (gaps.end_ns > start_ns)
    if not overlapping.any():
        return {"partition": None, "unavailable_ms": None}
    at = int(np.argmax(np.where(overlapping, gaps.end_ns - gaps.start_ns, -1)))
    length_ns = int(gaps.end_ns[at] - gaps.start_ns[at])
    return {"partition": gaps.names[int(gaps.partition[at])], "unavailable_ms": length_ns / NS_PER_MS}


def _by_partition(gaps: Gaps) -> list[dict[str, object]]:
    """Number, sum and longest of each partition's gaps, for partitions with gaps, the longest gap first."""
    length_ns = gaps.end_ns - gaps.start_ns
    long = length_ns > ISLAND_NS
    partition, length_ns = gaps.partition[long], length_ns[long]
    count = np.bincount(partition, minlength=len(gaps.names))
    total_ns, longest_ns = np.zeros_like(count), np.zeros_like(count)
    np.add.at(total_ns, partition, length_ns)
    np.maximum.at(longest_ns, partition, length_ns)
    worst = np.argsort(-longest_ns, kind="stable")[:PARTITIONS_REPORTED]
    return [
        {
            "partition": gaps.names[place],
            "gaps": int(count[place]),
            "unavailable_ms": int(total_ns[place]) / NS_PER_MS,
            "unavailable_ms_max": int(longest_ns[place]) / NS_PER_MS,
        }
        for place in worst.tolist()
        if count[place]
    ]


def _calls(operations: Iterable[Operation]) -> tuple[Integers, Integers]:
    """Start and end of each acknowledged send or transaction; shape (n,) each."""
    begun: dict[int | str, int] = {}
    times: list[tuple[int, int]] = []
    for operation in operations:
        if operation.f in {"send", "txn"}:
            if operation.type is INVOKE:
                begun[operation.process] = operation.time_ns
                continue
            began_ns = begun.pop(operation.process, None)
            if operation.type is OK and began_ns is not None:
                times.append((began_ns, operation.time_ns))
    invoked_ns, completed_ns = np.array(times, dtype=np.int64).reshape(-1, 2).T
    return invoked_ns, completed_ns


def _quantiles(took_ns: Integers) -> dict[str, float] | None:
    """Median and 99th percentile, milliseconds; None without values."""
    if not len(took_ns):
        return None
    p50, p99 = np.percentile(took_ns, (50, 99))
    return {"p50": round(float(p50) / NS_PER_MS, 3), "p99": round(float(p99) / NS_PER_MS, 3)}


ENTRY = Entry(CHECKER, check_availability, {}, NOTHING)
