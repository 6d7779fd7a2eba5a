"""Brokers' reports about partitions, and how much of the metadata log each broker had read by then.

A broker applies the committed records of the metadata log in order, from its beginning (KIP-595, KIP-631).
So a broker that reports a state knows all records up to the one that started that state.
"""

from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.partition_changes import PartitionChanges, partition_changes
from checkers.history.observed import PARTITIONS, PartitionsSeen
from checkers.history.operations import History, once


class ReportedState(NamedTuple):
    """State of a partition as one broker reported it.

    Attributes:
        partition: its name.
        leader: id of the leader; -1 if there is none, or if the leader is not alive.
        leader_epoch: number of the leadership.
        replicas: ids of the replicas.
        isr: ids of the replicas in sync.
        elr: ids of the eligible leader replicas, requested after all other fields; None if the broker does
            not report them.
    """

    partition: PartitionName
    leader: int
    leader_epoch: int
    replicas: frozenset[int]
    isr: frozenset[int]
    elr: frozenset[int] | None = None


class BrokerAnswer(NamedTuple):
    """One broker's answer; times in nanoseconds.

    Attributes:
        op: index of the observation.
        node: the broker's name.
        began_ns: when it was asked.
        time_ns: when its answer arrived.
        states: the states of all partitions that it reported.
    """

    op: int
    node: str
    began_ns: int
    time_ns: int
    states: tuple[ReportedState, ...]


@once
def answers_of(history: History) -> tuple[BrokerAnswer, ...]:
    """All answers of brokers, in the order of time.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    known: dict[ReportedState, ReportedState] = {}
    answers = []
    for operation in history.observed(PARTITIONS):
        seen = msgspec.convert(operation.value, PartitionsSeen)
        rows = (
            ReportedState(
                PartitionName(topic, state.partition),
                state.leader,
                state.leader_epoch,
                frozenset(state.replicas),
                frozenset(state.isr),
                None if state.elr is None else frozenset(state.elr),
            )
            for topic, states in seen.topics.items()
            for state in states
        )
        reported = tuple(known.setdefault(row, row) for row in rows)
        answers.append(
            BrokerAnswer(operation.index, operation.node or "", seen.began_ns, operation.time_ns, reported)
        )
    return tuple(answers)


class Known(NamedTuple):
    """Evidence that a broker knew the metadata log up to an offset.

    Attributes:
        time_ns: when it knew it, nanoseconds.
        offset: the last offset that it certainly knew.
        op: index of the observation that shows it.
    """

    time_ns: int
    offset: int
    op: int


@once
def knowledge_of(history: History) -> dict[str, tuple[Known, ...]]:
    """The known part of the metadata log of each broker, by the broker's name, in the order of time.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    first = _first_offsets(partition_changes(history))
    known: dict[str, list[Known]] = {}
    for answer in answers_of(history):
        offset = max((first.get(_state(reported), -1) for reported in answer.states), default=-1)
        known.setdefault(answer.node, []).append(Known(answer.time_ns, offset, answer.op))
    return {node: tuple(some) for node, some in known.items()}


class _State(NamedTuple):
    """What a broker reports of a partition's state."""

    partition: PartitionName
    leader_epoch: int
    replicas: frozenset[int]
    isr: frozenset[int]


def _state(reported: ReportedState) -> _State:
    return _State(reported.partition, reported.leader_epoch, reported.replicas, reported.isr)


def _first_offsets(changes: PartitionChanges) -> dict[_State, int]:
    """For each state, the first record that started an equal state."""
    first: dict[_State, int] = {}
    for partition, states in changes.states.items():
        for state in states:
            known = _State(partition, state.leader_epoch, frozenset(state.replicas), frozenset(state.isr))
            first.setdefault(known, state.offset)
    return first
