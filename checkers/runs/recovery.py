"""The recovery checker: after healing, every partition works in time, and each group has one coordinator."""

from collections.abc import Iterable, Sequence

import msgspec

from checkers.evidence.registered import unregistered
from checkers.evidence.topic_partitions import partitions_by
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.recoveries import RecoveredPartition, Recovery
from checkers.history.setup import recorded_setup
from checkers.history.sources import Source
from checkers.runs.claimed_coordinators import TWO_COORDINATORS, two_coordinators
from checkers.runs.silent_coordinators import silences
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

CHECKER = "recovery"

NOT_RECOVERED = AnomalyKind(
    id="not-recovered",
    meaning="Within the time limit after healing a partition had no leader, no full ISR or no "
    "acknowledged write, or no request for a group's offsets was answered.",
    guarantee="After faults are healed, every partition elects a leader, its replicas rejoin the "
    "ISR, and it accepts writes.",
    source="Kafka documentation, Design, Replication: replicas rejoin the ISR once they have caught up",
)
ANOMALIES = by_id(NOT_RECOVERED, TWO_COORDINATORS)
NEEDS = Needs((Source.RUNNER,))
"""The journals that the checker's rules need."""


def check_recovery(history: History) -> CheckerResult:
    """Judge whether all partitions recovered.

    The result is unknown in four cases: no recover operation recorded the state of each partition that
    existed before; no write was tried to a partition that final readers read; recovery took too long on a
    host with too many tasks for its CPUs; or a broker was dead, so that its replicas could not return.  The
    nodes checker reports its death.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    ended = [o for o in history.of("recover") if o.type is not INVOKE]
    complete = [operation for operation in ended if "partitions" in (operation.value or {})]
    recoveries = [(operation, msgspec.convert(operation.value, Recovery)) for operation in complete]
    gone = unregistered(history)
    found = [anomaly for operation, recovery in recoveries for anomaly in _judged(operation, recovery, gone)]
    found += two_coordinators(history)
    found += [anomaly for recovery in recoveries[-1:] for anomaly in _unanswered(history, *recovery)]
    took_ms = max((recovery.took_ms for _, recovery in recoveries), default=None)
    return result_of(
        CHECKER,
        found,
        figures={"took_ms": took_ms},
        unknown_because=_doubt(history, ended, recoveries),
    )


def _judged(
    operation: Operation, recovery: Recovery, unregistered_ids: frozenset[int] = frozenset()
) -> Iterable[Anomaly]:
    """Partitions that had not recovered in time.

    They are legal, and prove nothing, if the host was too busy, or if only replicas on brokers are missing
    that were unregistered while they ran.
    """
    licence = recovery.crowded or _unregistered_only(recovery, unregistered_ids)
    for anomaly in _late(operation, recovery):
        yield msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)


def _unregistered_only(recovery: Recovery, unregistered_ids: frozenset[int]) -> str | None:
    """Why replicas may be missing, if all that are missing are on unregistered brokers."""
    late = [each for each in recovery.partitions if each.lacks(recovery.dead)]
    missing = {broker for each in late for broker in {*each.replicas} - {*each.isr}}
    serve = all(each.leader is not None and each.write_acked is not False for each in late)
    if not missing or missing - unregistered_ids or not serve:
        return None
    ids = ", ".join(map(str, sorted(missing)))
    return f"broker {ids} was unregistered, and registers again only when it starts"


def _late(operation: Operation, recovery: Recovery) -> Iterable[Anomaly]:
    """One finding for every partition that lacks something; one for the cluster if only time ran out."""
    late = [partition for partition in recovery.partitions if partition.lacks(recovery.dead)]
    for partition in late:
        name = f"{partition.topic}/{partition.partition}"
        yield NOT_RECOVERED.found(
            f"{name} had {_joined(partition.lacks(recovery.dead))} {_within(recovery)}.",
            subject=name,
            time_ns=operation.time_ns,
            witness=(operation.index,),
            explanation=(_state(partition),),
        )
    if not late and recovery.took_ms > recovery.bound_ms:
        yield NOT_RECOVERED.found(
            f"The last partition recovered {_within(recovery)}.",
            time_ns=operation.time_ns,
            witness=(operation.index,),
        )


def _state(partition: RecoveredPartition) -> str:
    leader = "no leader" if partition.leader is None else f"leader {partition.leader}"
    isr, replicas = list(partition.isr), list(partition.replicas)
    return f"At that time it had {leader}, ISR {isr} and replicas {replicas}."


def _joined(lacks: Sequence[str]) -> str:
    """Parts of a sentence, the last one after an "and"."""
    return " and ".join(filter(None, (", ".join(lacks[:-1]), lacks[-1])))


def _within(recovery: Recovery) -> str:
    """How long recovery took and how long it may take."""
    return f"{recovery.took_ms / 1000:.3f} s after healing; {recovery.bound_ms / 1000:g} s are allowed"


def _unanswered(history: History, operation: Operation, recovery: Recovery) -> Iterable[Anomaly]:
    """Groups for which no coordinator returned offsets after a completed recovery."""
    if operation.type is not OK or recovery.crowded:
        return
    for silence in silences(history, recovery.bound_ms):
        anomaly = NOT_RECOVERED.found(
            f"No request for the committed offsets of {silence.group} was answered for "
            f"{silence.tried_ns / 10**9:.1f} s after recovery; {recovery.bound_ms / 1000:g} s are allowed.",
            subject=silence.group,
            time_ns=silence.last.time_ns,
            witness=(operation.index, silence.first.index, silence.last.index),
            explanation=(
                f"The last attempt ended with: {silence.last.error or 'no reason given'}.",
                "The partition that keeps them has a leader and all its replicas in sync.",
            ),
        )
        yield msgspec.structs.replace(anomaly, illegal=silence.licence is None, licence=silence.licence)


def _doubt(
    history: History, ended: Sequence[Operation], recoveries: Sequence[tuple[Operation, Recovery]]
) -> str | None:
    if not ended:
        return "no recover operation was completed"
    if not recoveries:
        return f"recovery recorded no partitions: {ended[-1].error or 'no reason given'}"
    if not all(recovery.partitions for _, recovery in recoveries):
        return "recovery checked no partition"
    begun = {o.process: o.time_ns for o in history.of("recover") if o.type is INVOKE}
    for operation, recovery in recoveries:
        seen = {(state.topic, state.partition) for state in recovery.partitions}
        expected = partitions_by(history, begun.get(operation.process, 0))
        unseen = [str(each.name) for each in expected if each.name not in seen]
        if unseen:
            return f"recovery did not check {', '.join(unseen)}"
    return _untried(history, recoveries) or _short(recoveries)


def _untried(history: History, recoveries: Sequence[tuple[Operation, Recovery]]) -> str | None:
    """Why it is unknown whether partitions accept writes: only topics that are not read need no write."""
    unread = {topic.name for topic in recorded_setup(history).topics if topic.read is False}
    untried = [
        f"{state.topic}/{state.partition}"
        for _, recovery in recoveries
        for state in recovery.partitions
        if state.write_acked is None and state.topic not in unread
    ]
    return f"recovery tried no write to {', '.join(untried)}" if untried else None


def _short(recoveries: Sequence[tuple[Operation, Recovery]]) -> str | None:
    """Why recoveries that covered all partitions did not reach their end."""
    crowded = [
        recovery.crowded
        for operation, recovery in recoveries
        if recovery.crowded and any(_judged(operation, recovery))
    ]
    if crowded:
        return f"recovery took too long, but {crowded[0]}"
    dead = sorted({node for _, recovery in recoveries for node in recovery.dead})
    if dead:
        return f"the nodes {', '.join(map(str, dead))} were dead, and their data could not return"
    unsure = [operation for operation, _ in recoveries if operation.type is not OK]
    return f"recovery ended without success: {unsure[0].error or 'no reason given'}" if unsure else None


ENTRY = Entry(CHECKER, check_recovery, ANOMALIES, NEEDS)
