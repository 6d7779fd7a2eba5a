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
from checkers.logs.partitions.broker_lives import is_one_life
from checkers.logs.partitions.brokers import BrokerAnswer, ReportedState, answers_of
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
        for reported in answer.states:
            if reported.leader != NOBODY and is_one(facts, reported.partition):
                leaders[reported.partition, reported.leader_epoch].setdefault(reported.leader, answer)
    for (partition, epoch), answers in leaders.items():
        if len(answers) > 1:
            yield TWO_LEADERS.found(
                f"Brokers reported several leaders of leader epoch {epoch} of {partition}: "
                f"{sorted(answers)}.",
                subject=str(partition),
                time_ns=max(answer.time_ns for answer in answers.values()),
                witness=[answer.op for answer in answers.values()],
                explanation=[
                    f"{answer.node} reported that broker {led} leads." for led, answer in answers.items()
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
        for reported in answer.states if answer.time_ns <= end_ns else ():
            if reported.partition not in facts.changes.states or reported in found:
                continue
            if reported not in begun:
                begun[reported] = _begun_ns(facts.changes, reported)
            from_ns = begun[reported]
            if from_ns is None or from_ns > answer.time_ns:
                found.add(reported)
                yield _never_reported(facts, answer, reported, from_ns)


def _begun_ns(changes: PartitionChanges, reported: ReportedState) -> int | None:
    """The earliest time at which the reported state may have begun; None if it never existed.

    The ELR is requested by a separate, later request, so it may belong to a later state.
    """
    states = changes.states[reported.partition]
    elrs = {frozenset(state.elr) for state in states if state.leader_epoch >= reported.leader_epoch}
    if reported.elr is not None and reported.elr not in elrs:
        return None
    alike = (
        changes.span(state).from_ns
        for state in states
        if state.leader_epoch == reported.leader_epoch
        and reported.leader in {state.leader, NOBODY}
        and frozenset(state.replicas) == reported.replicas
        and frozenset(state.isr) == reported.isr
    )
    return min(alike, default=None)


def _never_reported(
    facts: Facts, answer: BrokerAnswer, reported: ReportedState, from_ns: int | None
) -> Anomaly:
    states = facts.changes.states[reported.partition]
    near = [state for state in states if state.leader_epoch == reported.leader_epoch] or states[-1:]
    when = "was never its state" if from_ns is None else f"was not its state before {_s(from_ns)}"
    sets = (
        f"replicas {sorted(reported.replicas)}, ISR {sorted(reported.isr)}, ELR {sorted(reported.elr or ())}"
    )
    return VIEW_WITHOUT_RECORD.found(
        f"{answer.node} reported at {_s(answer.time_ns)} that broker {reported.leader} leads "
        f"{reported.partition} in epoch {reported.leader_epoch} ({sets}), which {when}.",
        subject=str(reported.partition),
        time_ns=answer.time_ns,
        witness=(answer.op, *_log(facts)),
        explanation=map(str, near),
    )


def went_back(facts: Facts) -> Iterator[Anomaly]:
    """Find brokers that reported an older leader epoch than before."""
    newest: dict[tuple[str, PartitionName], tuple[int, BrokerAnswer]] = {}
    for answer in answers_of(facts.history):
        for reported in answer.states:
            place = (answer.node, reported.partition)
            epoch, before = newest.get(place, (reported.leader_epoch, answer))
            if reported.leader_epoch >= epoch:
                newest[place] = (reported.leader_epoch, answer)
            elif is_one(facts, reported.partition) and is_one_life(facts, before, answer):
                newest[place] = (reported.leader_epoch, answer)
                yield VIEW_WENT_BACK.found(
                    f"{answer.node} reported leader epoch {reported.leader_epoch} of "
                    f"{reported.partition} at {_s(answer.time_ns)}, but had reported {epoch} at "
                    f"{_s(before.time_ns)}.",
                    subject=str(reported.partition),
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
        (answer, reported)
        for answer in _last(facts, ended.time_ns + SETTLED_NS)
        for reported in answer.states
        if reported.partition == partition
    ]
    if not last or any(reported.isr >= frozenset(claim.replicas) for _, reported in last):
        return None
    since = facts.changes.possible(partition, ended.time_ns, max(answer.time_ns for answer, _ in last))
    if not all(_is_full(claim, state) for state in since):
        return None
    texts = [f"{a.node} reported at {_s(a.time_ns)} the ISR {sorted(reported.isr)}." for a, reported in last]
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
