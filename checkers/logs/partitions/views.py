"""Compares brokers' reports about partitions with the metadata log, each other, and recovery.

A broker may lag for any time, so an old state is no contradiction.  There are four contradictions.

1.  Two leaders in one leader epoch.  (A leader that is not alive is reported as none.)
2.  A state that the log never had in that leader epoch, or whose record certainly had not been appended when
   the state was reported.
3.  A broker that reports an older leader epoch than before, without a restart in between.
4.  A reported recovery that the log contradicts from then to its end.  Or a reported recovery that all
    brokers contradict in their last answers, requested at least `SETTLED_NS` later, while the log had the
    recovered state all the time.

Removed topics are left out, because a report may be about another topic of that name.  Whether brokers report
the right partitions is judged by `misreported_topics`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.partition_changes import NOBODY, PartitionChanges, PartitionState
from checkers.history.operations import INVOKE, OK, Operation
from checkers.history.recoveries import RecoveredPartition, Recovery
from checkers.history.units import NS_PER_S
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import (
    RECOVERY_DENIED,
    TWO_LEADERS,
    VIEW_WENT_BACK,
    VIEW_WITHOUT_RECORD,
)
from checkers.logs.partitions.brokers import BrokerAnswer, ReportedState, answers_of
from checkers.logs.partitions.lives import is_one_life
from checkers.verdict.verdict import Anomaly

SETTLED_NS = 500_000_000
"""How long after recovery, as one broker reported it, all brokers may still report the previous state."""


def contradictions(facts: Facts, end_ns: int) -> Iterator[Anomaly]:
    """Find all four contradictions.

    Args:
        facts: the history.
        end_ns: the time until which the metadata log is complete, nanoseconds.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    yield from two_leaders(facts)
    yield from without_record(facts, end_ns)
    yield from went_back(facts)
    yield from denied(facts, end_ns)


def two_leaders(facts: Facts) -> Iterator[Anomaly]:
    """Find leader epochs for which two leaders were reported."""
    leaders: dict[tuple[PartitionName, int], dict[int, BrokerAnswer]] = defaultdict(dict)
    for answer in answers_of(facts.history):
        for telling in answer.states:
            if telling.leader != NOBODY and is_one(facts, telling.partition):
                leaders[telling.partition, telling.leader_epoch].setdefault(telling.leader, answer)
    for (partition, epoch), told in leaders.items():
        if len(told) > 1:
            yield TWO_LEADERS.found(
                f"Brokers reported several leaders of leader epoch {epoch} of {partition}: {sorted(told)}.",
                subject=str(partition),
                time_ns=max(answer.time_ns for answer in told.values()),
                witness=[answer.op for answer in told.values()],
                explanation=[
                    f"{answer.node} reported that broker {led} leads." for led, answer in told.items()
                ],
            )


def is_one(facts: Facts, partition: PartitionName) -> bool:
    """Whether a name belonged to the same partition all the time."""
    if facts.changes.op is not None:
        return partition in facts.changes.states
    return all(operation.key != partition.topic for operation in facts.history.of("delete-topic"))


def without_record(facts: Facts, end_ns: int) -> Iterator[Anomaly]:
    """Find reported states that never existed, or did not exist yet.

    Args:
        facts: the history.
        end_ns: the time until which the metadata log is complete, nanoseconds.
    """
    begun: dict[ReportedState, int | None] = {}
    found: set[ReportedState] = set()
    for answer in answers_of(facts.history):
        for telling in answer.states if answer.time_ns <= end_ns else ():
            if telling.partition not in facts.changes.states or telling in found:
                continue
            if telling not in begun:
                begun[telling] = _begun_ns(facts.changes, telling)
            from_ns = begun[telling]
            if from_ns is None or from_ns > answer.time_ns:
                found.add(telling)
                yield _never_reported(facts, answer, telling, from_ns)


def _begun_ns(changes: PartitionChanges, telling: ReportedState) -> int | None:
    """The earliest time at which the reported state may have begun; None if it never existed.

    The ELR is requested by a separate, later request, so it may belong to a later state.
    """
    states = changes.states[telling.partition]
    elrs = {frozenset(state.elr) for state in states if state.leader_epoch >= telling.leader_epoch}
    if telling.elr is not None and telling.elr not in elrs:
        return None
    alike = (
        changes.span(state).from_ns
        for state in states
        if state.leader_epoch == telling.leader_epoch
        and telling.leader in {state.leader, NOBODY}
        and frozenset(state.replicas) == telling.replicas
        and frozenset(state.isr) == telling.isr
    )
    return min(alike, default=None)


def _never_reported(
    facts: Facts, answer: BrokerAnswer, telling: ReportedState, from_ns: int | None
) -> Anomaly:
    states = facts.changes.states[telling.partition]
    near = [state for state in states if state.leader_epoch == telling.leader_epoch] or states[-1:]
    when = "was never its state" if from_ns is None else f"was not its state before {_s(from_ns)}"
    sets = f"replicas {sorted(telling.replicas)}, ISR {sorted(telling.isr)}, ELR {sorted(telling.elr or ())}"
    return VIEW_WITHOUT_RECORD.found(
        f"{answer.node} reported at {_s(answer.time_ns)} that broker {telling.leader} leads "
        f"{telling.partition} in epoch {telling.leader_epoch} ({sets}), which {when}.",
        subject=str(telling.partition),
        time_ns=answer.time_ns,
        witness=(answer.op, *_log(facts)),
        explanation=map(str, near),
    )


def went_back(facts: Facts) -> Iterator[Anomaly]:
    """Find brokers that reported an older leader epoch than before."""
    newest: dict[tuple[str, PartitionName], tuple[int, BrokerAnswer]] = {}
    for answer in answers_of(facts.history):
        for telling in answer.states:
            place = (answer.node, telling.partition)
            epoch, before = newest.get(place, (telling.leader_epoch, answer))
            if telling.leader_epoch >= epoch:
                newest[place] = (telling.leader_epoch, answer)
            elif is_one(facts, telling.partition) and is_one_life(facts, before, answer):
                newest[place] = (telling.leader_epoch, answer)
                yield VIEW_WENT_BACK.found(
                    f"{answer.node} reported leader epoch {telling.leader_epoch} of "
                    f"{telling.partition} at {_s(answer.time_ns)}, but had reported {epoch} at "
                    f"{_s(before.time_ns)}.",
                    subject=str(telling.partition),
                    time_ns=answer.time_ns,
                    witness=(before.op, answer.op),
                )


def denied(facts: Facts, end_ns: int) -> Iterator[Anomaly]:
    """Find partitions that were reported as recovered but had not recovered.

    Args:
        facts: the history.
        end_ns: the time until which the metadata log is complete, nanoseconds.
    """
    began: Operation | None = None
    for operation in facts.history.of("recover"):
        if operation.type is INVOKE:
            began = operation
        elif operation.type is OK and began is not None:
            for claim in msgspec.convert(operation.value, Recovery).partitions:
                why = _denial(facts, claim, (began, operation), end_ns)
                if why is not None:
                    yield why


def _denial(
    facts: Facts, claim: RecoveredPartition, asked: tuple[Operation, Operation], end_ns: int
) -> Anomaly | None:
    partition, (began, ended) = PartitionName(claim.topic, claim.partition), asked
    if partition not in facts.changes.states or ended.time_ns > end_ns:
        return None
    states = facts.changes.possible(partition, began.time_ns, end_ns)
    if not any(_is_full(claim, state) for state in states):
        return _denied(
            facts, partition, ended, (), ["The metadata log never had this state.", *map(str, states)]
        )
    last = [
        (answer, telling)
        for answer in _last(facts, ended.time_ns + SETTLED_NS)
        for telling in answer.states
        if telling.partition == partition
    ]
    if not last or any(telling.isr >= frozenset(claim.replicas) for _, telling in last):
        return None
    since = facts.changes.possible(partition, ended.time_ns, max(answer.time_ns for answer, _ in last))
    if not all(_is_full(claim, state) for state in since):
        return None
    texts = [f"{a.node} reported at {_s(a.time_ns)} the ISR {sorted(told.isr)}." for a, told in last]
    return _denied(facts, partition, ended, [answer.op for answer, _ in last], texts)


def _last(facts: Facts, since_ns: int) -> list[BrokerAnswer]:
    """Each broker's last answer that was requested later than a time."""
    last = {answer.node: answer for answer in answers_of(facts.history) if answer.began_ns > since_ns}
    return list(last.values())


def _is_full(claim: RecoveredPartition, state: PartitionState) -> bool:
    return state.leader != NOBODY and {*claim.replicas} <= {*state.isr}


def _denied(
    facts: Facts, partition: PartitionName, ended: Operation, ops: Sequence[int], why: Sequence[str]
) -> Anomaly:
    return RECOVERY_DENIED.found(
        f"{partition} was reported as recovered at {_s(ended.time_ns)}, but did not have a full ISR.",
        subject=str(partition),
        time_ns=ended.time_ns,
        witness=(ended.index, *ops, *_log(facts)),
        explanation=why,
    )


def _log(facts: Facts) -> tuple[int, ...]:
    return () if facts.changes.op is None else (facts.changes.op,)


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
