"""Which events of a history permit that an acknowledged record vanishes, and what else they permit.

The rules are one table, `RULES`.  A rule says under which configuration it applies to a topic, which events
of the history it needs, and whether it covers records that a consumer had been given already.  What is not in
the table permits nothing: for acks=all that is killing, stopping, pausing or cutting off nodes, preferred
elections, and ``min.insync.replicas=1`` (a killed process keeps its disk).

A rule to come (wiped disks, ElectLeaders with type unclean) is one more row, with a function that finds its
events.  Compaction depends on single records, and is judged beside them (`checkers.log.licensing`).
"""

import re
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns import NEVER, NONE, Booleans, Integers, PartitionName
from checkers.faults import FOREVER_NS, fault_windows
from checkers.history import History, Operation, OperationType
from checkers.shapes import PartitionsSeen, Setup, Topic

HONOURED_SINCE = (3, 9)
"""First version whose KRaft controllers obey unclean.leader.election.enable (KAFKA-12670)."""
_NS_PER_S = 1_000_000_000


class Event(NamedTuple):
    """Something that happened, at an unknown moment between two known ones.

    Attributes:
        from_ns: not before this time.
        to_ns: not after this time; `NEVER` if it had not ended when the history did.
        where: the partition that it touched; None if it may have touched any.
        text: what it was.
        below: records below this offset were removed, and nothing else happened; None: the log was truncated,
            so its end may have been written anew.
    """

    from_ns: int
    to_ns: int
    where: PartitionName | None
    text: str
    below: int | None = None


class Permit(NamedTuple):
    """An event, and the rule by which it permits a loss.

    Attributes:
        event: what happened, when, and where.
        covers_returned: whether records that a consumer had been given may vanish too.
        text: the licence, as a verdict states it.
    """

    event: Event
    covers_returned: bool
    text: str


class Rule(NamedTuple):
    """One row of the table.

    Attributes:
        name: the configuration that it is about.
        applies: whether that is in force for a topic.
        events: finds the events that it needs.
        covers_returned: whether it covers records that a consumer had been given.
        reason: why the loss is permitted.
    """

    name: str
    applies: Callable[[Setup, Topic], bool]
    events: Callable[[History], Iterator[Event]]
    covers_returned: bool
    reason: str


class Licences:
    """The permits of one history, by partition."""

    def __init__(self, permits: dict[str, list[Permit]] | None = None) -> None:
        self._anywhere: dict[str, list[tuple[int, Permit]]] = {}
        self._somewhere: dict[PartitionName, list[tuple[int, Permit]]] = {}
        for topic, some in (permits or {}).items():
            for entry in enumerate(some):
                where = entry[1].event.where
                if where is None:
                    self._anywhere.setdefault(topic, []).append(entry)
                else:
                    self._somewhere.setdefault(where, []).append(entry)

    def of(self, partition: PartitionName) -> tuple[Permit, ...]:
        """All permits that may apply to a partition, in the order of the table."""
        permits = [*self._anywhere.get(partition.topic, ()), *self._somewhere.get(partition, ())]
        return tuple(permit for _, permit in sorted(permits, key=itemgetter(0)))


def licences_of(history: History) -> Licences:
    """Find everything in a history that permits a loss."""
    setup = _setup_of(history)
    events = {rule.events: list(rule.events(history)) for rule in RULES}
    return Licences({topic.name: _permits(setup, topic, events) for topic in setup.topics})


def first_permit(
    permits: tuple[Permit, ...],
    since_ns: Integers,
    until_ns: Integers,
    returned: Booleans,
    offset: Integers | None = None,
) -> Integers:
    """Find, for each of many losses in one partition, the first permit that covers it.

    Args:
        permits: the partition's permits.
        since_ns: shape (n,), last moment at which the record is known to have been there.
        until_ns: shape (n,), first moment at which it is known to be gone.
        returned: shape (n,), whether a consumer had been given it.
        offset: shape (n,), where it stood, `NONE` where nobody knows; None if what is asked about can't come
            from the removal of records, but only from a truncation.

    Returns:
        Shape (n,), indices into `permits`, `NONE` where nothing permits the loss.
    """
    first = np.full(len(since_ns), NONE, dtype=np.int64)
    for index in reversed(range(len(permits))):
        event, covers_returned, _ = permits[index]
        covered = (event.from_ns <= until_ns) & (event.to_ns >= since_ns)
        if event.below is not None:
            covered &= False if offset is None else (offset != NONE) & (offset < event.below)
        first[covered if covers_returned else covered & ~returned] = index
    return first


def _setup_of(history: History) -> Setup:
    for operation in history.operations:
        if operation.f == "setup":
            return msgspec.convert(operation.value, Setup)
    return Setup()


def _permits(
    setup: Setup, topic: Topic, events: dict[Callable[[History], Iterator[Event]], list[Event]]
) -> list[Permit]:
    mine = [
        (rule, event)
        for rule in RULES
        if rule.applies(setup, topic)
        for event in events[rule.events]
        if event.where is None or event.where.topic == topic.name
    ]
    return [
        Permit(event, rule.covers_returned, f"{rule.name}: {event.text}; {rule.reason}")
        for rule, event in mine
    ]


def _acks(wanted: str) -> Callable[[Setup, Topic], bool]:
    return lambda setup, _: str(setup.workload.acks) == wanted


def _elects_uncleanly(setup: Setup, topic: Topic) -> bool:
    """Whether an unclean election may happen; a topic's own config overrides the cluster's."""
    name = "unclean.leader.election.enable"
    enabled = topic.config.get(name, setup.config.get(name, "false"))
    return str(enabled).lower() == "true" and _version(setup) >= HONOURED_SINCE


def _always(_: Setup, __: Topic) -> bool:
    return True


def _retains(_: Setup, topic: Topic) -> bool:
    """Whether a topic's own config limits how long or how much it keeps."""
    limits = (topic.config.get(name) for name in ("retention.ms", "retention.bytes"))
    return "delete" in topic.cleanup and any(str(limit) not in {"None", "-1"} for limit in limits)


def _version(setup: Setup) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", setup.kafka_version)[:2])


def always(_: History) -> Iterator[Event]:
    """One event as long as the history."""
    yield Event(0, NEVER, None, "nothing is promised at any time")


def disturbances(history: History) -> Iterator[Event]:
    """Every observed move of a partition's leader, then every fault from its injection to its healing."""
    yield from leader_moves(history)
    yield from faults(history)


def leader_moves(history: History) -> Iterator[Event]:
    """Find rises of partitions' leader epochs.

    Brokers may tell an old epoch, so a move lies between the first sightings of the old and the new one.
    """
    seen: dict[PartitionName, tuple[int, int]] = {}
    for operation in history.operations:
        if operation.f != "observe" or operation.key != "partitions":
            continue
        for partition, epoch in _epochs(msgspec.convert(operation.value, PartitionsSeen)):
            known, since_ns = seen.get(partition, (epoch, operation.time_ns))
            if epoch > known:
                span = _span(since_ns, operation.time_ns)
                text = f"the leader epoch of {partition} moved from {known} to {epoch} {span}"
                yield Event(since_ns, operation.time_ns, partition, text)
            if epoch > known or partition not in seen:
                seen[partition] = (epoch, operation.time_ns)


def faults(history: History) -> Iterator[Event]:
    """Every fault that was injected, or attempted so that it may have taken effect."""
    for window in fault_windows(history):
        span = _span(window.invoked_ns, window.end_ns)
        text = f"fault {window.id} ({window.kind}) was in force {span}"
        yield Event(window.invoked_ns, window.end_ns, None, text)


def deletions(history: History) -> Iterator[Event]:
    """Every DeleteRecords request that was granted, or may have been."""
    begun: dict[int | str, Operation] = {}
    for operation in history.operations:
        if operation.f != "delete-records":
            continue
        if operation.type is OperationType.INVOKE:
            begun[operation.process] = operation
            continue
        asked = begun.pop(operation.process)
        if operation.type is OperationType.INFO:
            yield from _deleted(asked, NEVER)
        elif operation.type is OperationType.OK:
            yield from _deleted(asked, operation.time_ns)
    for asked in begun.values():
        yield from _deleted(asked, NEVER)


def _deleted(asked: Operation, until_ns: int) -> Iterator[Event]:
    for number, below in asked.value:
        where = PartitionName(asked.key, number)
        text = f"operation {asked.index} asked to delete the records of {where} below offset {below}"
        yield Event(asked.time_ns, until_ns, where, text, below)


def log_starts(history: History) -> Iterator[Event]:
    """Where the logs that begin above offset 0 begin in the end, as the final reads listed it."""
    starts: dict[PartitionName, int] = {}
    for operation in history.operations:
        if operation.f == "final-read" and operation.type in {OperationType.OK, OperationType.INFO}:
            where = PartitionName(operation.key, operation.value["partition"])
            starts[where] = max(starts.get(where, 0), operation.value.get("start") or 0)
    for where, start in starts.items():
        if start:
            yield Event(0, NEVER, where, f"the log of {where} begins at offset {start} in the end", start)


def _epochs(seen: PartitionsSeen) -> Iterator[tuple[PartitionName, int]]:
    for topic, partitions in seen.topics.items():
        for state in partitions:
            yield PartitionName(topic, state[0]), state[2]


def _span(from_ns: int, to_ns: int) -> str:
    until = "the end" if to_ns == FOREVER_NS else f"{to_ns / _NS_PER_S:.3f} s"
    return f"between {from_ns / _NS_PER_S:.3f} s and {until}"


RULES = (
    Rule(
        name="acks=0",
        applies=_acks("0"),
        events=always,
        covers_returned=False,
        reason="the producer did not wait for an acknowledgement",
    ),
    Rule(
        name="acks=1",
        applies=_acks("1"),
        events=disturbances,
        covers_returned=False,
        reason="only the leader had to have the record, and another leader need not have it",
    ),
    Rule(
        name="unclean.leader.election.enable=true",
        applies=_elects_uncleanly,
        events=disturbances,
        covers_returned=True,
        reason="a replica that was not in sync may lead, and what it does not have is truncated",
    ),
    Rule(
        name="DeleteRecords",
        applies=_always,
        events=deletions,
        covers_returned=True,
        reason="what lies below that offset is deleted on request (KIP-107)",
    ),
    Rule(
        name="retention",
        applies=_retains,
        events=log_starts,
        covers_returned=True,
        reason="segments that are older or larger than the topic keeps are deleted",
    ),
)
"""Which configuration and which events permit a loss; the first row that covers it is its licence."""
