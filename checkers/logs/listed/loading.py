"""Loads listed offsets, and the times from which the answering broker may no longer have led."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName
from checkers.evidence.administration import alterations_of
from checkers.evidence.loading import all_columns_of
from checkers.evidence.partition_changes import PartitionChanges
from checkers.history.observed import OFFSETS, OffsetsRequested, OffsetsSeen
from checkers.history.operations import INVOKE, History
from checkers.history.setup import Topic
from checkers.history.units import NS_PER_MS
from checkers.licences import first_permit, licences_of
from checkers.licences.facts import Facts
from checkers.logs.listed.clients import NO_EPOCH, client_ends, known_epoch, without_process
from checkers.verdict.verdict import Anomaly

Found = tuple[Anomaly, str | None]
"""A finding, and the event that permits it."""
_RETENTION = re.compile(r"(local\.)?retention\.")
_RETENTION_OF_NODES = re.compile(r"log\.(local\.)?retention\.(ms|minutes|hours|bytes)")


class ListedPartition(NamedTuple):
    """A broker's answer about one partition.

    Attributes:
        op: index of the observation.
        node: the broker's name.
        what: what was requested.
        since_ms: the timestamp that was requested, if one was.
        began_ns: when it was asked.
        time_ns: when its answer arrived.
        wall_ns: difference from times of the history to times of the host's clock.
        leader_epoch: the epoch in which it led; `NO_EPOCH` if a client was answered, which does not know it.
        offset: the reported offset; -1 if there is none.
        timestamp_ms: the timestamp of the record at that offset.
        fence_ns: the broker must have known, when asked, everything that any leader had acknowledged by this
            time.
    """

    op: int
    node: str
    what: OffsetsRequested
    since_ms: int | None
    began_ns: int
    time_ns: int
    wall_ns: int
    leader_epoch: int
    offset: int
    timestamp_ms: int
    fence_ns: int


class ListedLog(NamedTuple):
    """One partition, and all answers about it, in order.

    Attributes:
        name: the partition.
        listings: answers to observers.
        to_clients: answers to clients, which tell nothing but ends.
    """

    name: PartitionName
    listings: list[ListedPartition]
    to_clients: list[ListedPartition]


def places_of(facts: Facts) -> list[ListedLog]:
    """All partitions of the run's topics with at least one answer, in the order of their names.

    Other topics are left out: their permitted losses are unknown, and a topic that is created again is
    another topic with the same name.  A broker leads in an epoch until the next one starts, which it may not
    know at once.  So it must know everything that was acknowledged before the record of the next epoch can
    have been appended.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: dict[PartitionName, list[ListedPartition]] = {}
    fences = _Fences(facts.changes)
    removed = {operation.key for operation in facts.history.of("delete-topic")}
    judged = {topic.name for topic in facts.setup.topics} - removed
    for operation in facts.history.observed(OFFSETS):
        seen = msgspec.convert(operation.value, OffsetsSeen)
        wall_ns = seen.wall_ms * NS_PER_MS - seen.began_ns
        times_ns = (seen.began_ns, operation.time_ns, wall_ns)
        for topic in judged & seen.topics.keys():
            for partition, epoch, offset, timestamp_ms in seen.topics[topic]:
                name = PartitionName(topic, partition)
                fence_ns = min(seen.began_ns, fences.of(name, epoch))
                asked = (operation.index, operation.node or "", seen.what, seen.since_ms)
                answer = ListedPartition(*asked, *times_ns, epoch, offset, timestamp_ms, fence_ns)
                found.setdefault(name, []).append(answer)
    told = _to_clients(facts, fences)
    names = sorted({*found, *(name for name in told if name.topic in judged)})
    return [ListedLog(name, found.get(name, []), told.get(name, [])) for name in names]


def _to_clients(facts: Facts, fences: "_Fences") -> dict[PartitionName, list[ListedPartition]]:
    """Ends that clients listed, as answers of the leader that all brokers knew or of a later one."""
    found: dict[PartitionName, list[ListedPartition]] = {}
    brokers = [node.name for node in facts.setup.nodes if "broker" in node.roles]
    for name, ends in client_ends(facts.history).items():
        for end in ends:
            asked_ns = end.asked_ns
            running = [node for node in brokers if not without_process(facts.history, node, asked_ns)]
            epoch = known_epoch(facts.views.get(name, ()), running, asked_ns)
            fence_ns = min(asked_ns, fences.of(name, epoch))
            asked = (end.operation, "a leader", end.what, None, asked_ns, end.time_ns, 0)
            answer = ListedPartition(*asked, NO_EPOCH, end.offset, NONE, fence_ns)
            found.setdefault(name, []).append(answer)
    return found


class _Fences:
    """The earliest times at which the first epoch after a given epoch can have started."""

    def __init__(self, changes: PartitionChanges) -> None:
        self._changes = changes
        self._known: dict[tuple[PartitionName, int], int] = {}

    def of(self, name: PartitionName, epoch: int) -> int:
        """Return this time for an epoch of a partition; 0 if unknown."""
        if (name, epoch) not in self._known:
            self._known[name, epoch] = self._found(name, epoch)
        return self._known[name, epoch]

    def _found(self, name: PartitionName, epoch: int) -> int:
        changes = self._changes
        later = (state for state in changes.states.get(name, ()) if state.leader_epoch > epoch)
        following = next(later, None)
        if following is not None:
            return changes.span(following).from_ns
        return changes.complete_until_ns if name in changes.states else 0


class SentRecords(NamedTuple):
    """Records of one partition whose offsets are known; arrays of one shape.

    Attributes:
        offset: offset of each record.
        invoked_ns: when its send was invoked.
        completed_ns: when its send was completed.
        kept: whether all in-sync replicas had it when it was acknowledged.
        op: index of its invocation.
    """

    offset: Integers
    invoked_ns: Integers
    completed_ns: Integers
    kept: Booleans
    op: Integers

    def at(self, rows: Integers) -> "SentRecords":
        """Return the records at some rows."""
        times = (self.invoked_ns[rows], self.completed_ns[rows])
        return SentRecords(self.offset[rows], *times, self.kept[rows], self.op[rows])


class ListedHistory:
    """A history, with the facts by which leaders' answers are judged."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.facts = Facts(history)
        self.places = places_of(self.facts)

    @cached_property
    def _columns(self) -> Columns:
        return all_columns_of(self.history)

    def sent(self, name: PartitionName) -> SentRecords:
        """The records that were sent to a partition and have a known offset."""
        sends = self._columns.sends
        if name not in self._columns.partitions:
            rows = np.zeros(0, np.int64)
        else:
            code = self._columns.partitions.index(name)
            rows = np.flatnonzero((sends.partition == code) & (sends.offset != NONE))
        kept = self._columns.is_strict(rows) | (self._columns.acks == "all")
        times = (sends.invoked_ns[rows], sends.completed_ns[rows])
        return SentRecords(sends.offset[rows], *times, kept, sends.invoke_op[rows])

    def transactional(self, name: PartitionName) -> bool:
        """Whether any record was sent to a partition in a transaction.

        Kafka Streams sends all records of its topics in transactions, and no operation shows these.
        """
        if self.facts.setup.workload.application and not self.topic(name).loaded:
            return True
        sends = self._columns.sends
        if name not in self._columns.partitions:
            return False
        return bool(sends.transactional[sends.partition == self._columns.partitions.index(name)].any())

    def topic(self, name: PartitionName) -> Topic:
        """The topic of a partition, as the run created it."""
        made = (each for each in self.facts.setup.topics if each.name == name.topic)
        return next(made, Topic(name=name.topic, partitions=1))

    def led_from_ns(self, name: PartitionName, epoch: int) -> int:
        """The time by which an epoch's leader certainly led; before, it may have followed and truncated."""
        changes = self.facts.changes
        states = (state for state in changes.states.get(name, ()) if state.leader_epoch == epoch)
        first = next(states, None)
        return 0 if first is None or epoch == 0 else changes.span(first).to_ns

    def deletable_below(self, name: PartitionName, time_ns: int) -> int:
        """The offset up to which a deletion of a partition's records had been requested by a time."""
        asked = self._deletions.get(name, ())
        return max((below for from_ns, below in asked if from_ns <= time_ns), default=0)

    @cached_property
    def _deletions(self) -> dict[PartitionName, list[tuple[int, int]]]:
        found: dict[PartitionName, list[tuple[int, int]]] = {}
        for asked in self.history.of("delete-records"):
            if asked.type is INVOKE:
                for number, below in asked.value:
                    name = PartitionName(str(asked.key), int(number))
                    found.setdefault(name, []).append((asked.time_ns, int(below)))
        return found

    def retained(self, name: PartitionName) -> bool:
        """Whether something other than a request may remove the oldest records of a partition."""
        altered = (asked.config for o, asked in alterations_of(self.history) if o.key == name.topic)
        configs = (*self.topic(name).config, *altered)
        brokers = (self.facts.setup.config, *self.facts.setup.node_config.values())
        of_nodes = (config for some in brokers for config in some)
        return any(map(_RETENTION.match, map(str, configs))) or any(map(_RETENTION_OF_NODES.match, of_nodes))

    def permit(
        self,
        name: PartitionName,
        since_ns: int,
        until_ns: int,
        offset: int,
        *,
        known_ns: int | None = None,
        removable: bool = False,
    ) -> str | None:
        """The event that permits that a record existed at one time and was missing at another, or None.

        Args:
            name: the partition.
            since_ns: time before which no loss explains that the record is missing.
            until_ns: when it was missing.
            offset: its offset.
            known_ns: when it was known to exist; `since_ns` if not given.
            removable: whether the removal of old records may explain it too.
        """
        permits = licences_of(self.history).of(name)
        (row,) = first_permit(
            permits,
            np.array([since_ns]),
            np.array([until_ns]),
            np.array([True]),
            np.array([offset]),
            known_ns=np.array([since_ns if known_ns is None else known_ns]),
            removable=removable,
        ).tolist()
        return None if row == NONE else permits[row].text


def answers(place: ListedLog, *what: OffsetsRequested) -> list[ListedPartition]:
    """The answers to observers of some kinds that contain an offset."""
    return [answer for answer in place.listings if answer.what in what and answer.offset != NONE]


def worst(found: Iterable[Found]) -> Iterator[Anomaly]:
    """The first finding that nothing permits; otherwise the first finding with the event that permits it."""
    first: Anomaly | None = None
    for anomaly, licence in found:
        if licence is None:
            yield anomaly
            return
        first = first or msgspec.structs.replace(anomaly, illegal=False, licence=licence)
    if first is not None:
        yield first


def shown(answer: ListedPartition) -> str:
    """Return an answer as a sentence."""
    if answer.leader_epoch == NO_EPOCH:
        return (
            f"Asked by a client after {answer.began_ns / 1e9:.3f} s, a leader answered by "
            f"{answer.time_ns / 1e9:.3f} s: {answer.what} is offset {answer.offset}."
        )
    asked = "" if answer.since_ms is None else f" {answer.since_ms} ms"
    return (
        f"Asked at {answer.began_ns / 1e9:.3f} s, {answer.node}, leader in epoch {answer.leader_epoch}, "
        f"answered at {answer.time_ns / 1e9:.3f} s: {answer.what}{asked} is offset {answer.offset}."
    )


def running_maximum(
    times_ns: Sequence[int], values: Sequence[int], since_ns: Sequence[int]
) -> tuple[Integers, Integers]:
    """Times, ascending, and for each the row of the largest value so far; of equal ones, the latest since."""
    times, given, since = (np.array(each, np.int64) for each in (times_ns, values, since_ns))
    order = np.argsort(times, kind="stable")
    rank = np.lexsort((-np.arange(len(order)), since[order], given[order]))
    ranks = np.empty_like(rank)
    ranks[rank] = np.arange(len(order))
    return times[order], order[rank[np.maximum.accumulate(ranks)]]
