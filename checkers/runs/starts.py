"""The starts checker: the number of starts that a cluster needed, and the errors of failed starts.

A start is not part of the load: there are no acknowledged records yet that it could lose, and the limit is
krucible's own.  So a cluster that does not become ready is only reported, and the result is unknown if it
never became ready.  A process that ends by itself is illegal, during a start as well as later.
"""

from collections.abc import Iterator, Sequence

import msgspec

from checkers.history.operations import History, Operation
from checkers.history.runner import START, StartSeen
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import NOTHING
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

CHECKER = "starts"

NOT_READY = AnomalyKind(
    id="cluster-not-ready",
    meaning="A new cluster without faults did not become ready, and was started again on new disks.",
    guarantee="Controllers that reach each other elect a leader. Brokers that reach the leader "
    "register and are unfenced. Kafka gives no time limit; krucible waits for 90 s.",
    source="KIP-595 (Leader Election), KIP-631 (Broker Registration and State Management)",
    illegal=False,
)
NODE_DIED_AT_START = AnomalyKind(
    id="node-died-at-start",
    meaning="A node of a new cluster ended by itself before the cluster was ready, and its log says so.",
    guarantee="A broker or controller keeps running until it is told to stop.",
    source="krucible: rejected configurations, lack of memory, full disks and signals are excluded",
)
ANOMALIES = by_id(NOT_READY, NODE_DIED_AT_START)


def check_starts(history: History) -> CheckerResult:
    """Judge failed starts.

    The result is unknown if the last start failed too.

    Raises:
        msgspec.ValidationError: a start is not as docs/histories.md says.
    """
    starts = [(operation, msgspec.convert(operation.value, StartSeen)) for operation in history.of(START)]
    return result_of(
        CHECKER,
        [anomaly for operation, seen in starts if not seen.ready for anomaly in _found(operation, seen)],
        figures={"starts": len(starts)},
        unknown_because=_doubt(starts),
        exercised=bool(starts),
    )


def _found(operation: Operation, seen: StartSeen) -> Iterator[Anomaly]:
    cause = "; ".join(seen.sentences) or seen.missing or "nothing was recorded"
    yield NOT_READY.found(
        f"Start {operation.key} did not become ready within {seen.took_s:.0f} s: {cause}.",
        subject=f"start {operation.key}",
        time_ns=operation.time_ns,
        witness=(operation.index,),
        explanation=[
            *(f"{sentence}." for sentence in seen.sentences),
            f"The host had {seen.load_per_cpu or 0:.1f} tasks for each CPU.",
        ],
    )
    for death in seen.died or ():
        yield NODE_DIED_AT_START.found(
            f"{death.node} ended by itself with exit code {death.exit_code} during start {operation.key}.",
            subject=death.node,
            time_ns=operation.time_ns,
            witness=(operation.index,),
            explanation=(f"Its last log line: {death.said}",),
        )


def _doubt(starts: Sequence[tuple[Operation, StartSeen]]) -> str | None:
    if not starts or starts[-1][1].ready:
        return None
    last = starts[-1][1]
    why = "; ".join(last.sentences) or last.missing
    return f"none of {len(starts)} starts became ready, the last because: {why}"


ENTRY = Entry(CHECKER, check_starts, ANOMALIES, NOTHING)
