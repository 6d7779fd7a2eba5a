"""The final read: all records, by both clients, at both isolation levels.

It begins only after every partition has a leader.  If a partition has no leader, a Fetch to a follower is
answered with no records and no error, so a full log would look empty.  If the workload has transactions, it
begins only after the coordinator has aborted those that no client ended, or should have aborted them.  Until
then the end for read_committed, the last stable offset, is below the end of the log.
"""

import math
import time
from threading import Event
from typing import NamedTuple

import msgspec

from checkers.history.operations import OperationType
from checkers.history.polls import FinalRead, FinalReadPart, FinalReadRequested, Isolation
from harness.clients.interface import (
    ClientFailedError,
    ClientKind,
    LogConsumer,
    Message,
    ReadError,
)
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError
from harness.record.journal import describe
from harness.vocabulary import Workload
from harness.workloads.consuming import grouped
from harness.workloads.context import Address, WorkloadContext
from harness.workloads.txn_ending import Place, await_ended
from harness.workloads.worker import Worker, join_all

_POLL_WAIT_S = 0.5
_PAUSE_S = 0.1
_SHARE_FOR_LEADERS = 0.5
_LEADERS_AFTER_TIMEOUT_S = 5.0
"""Enough if recovery has timed out and all brokers answer: a longer wait would bring no leader.

A broker that does not answer may still be starting, and then leaders may still be elected.
"""
_SHARE_FOR_TRANSACTIONS = 0.6
_OFFSETS_TIMEOUT_S = 5.0
_ASK_TIMEOUT_S = 1.5
_END_GRACE_S = 15.0

AnyContext = WorkloadContext[Workload]


def final_readers(
    context: AnyContext,
    deadline: float,
    dead: frozenset[Address] = frozenset(),
    *,
    recovery_timed_out: bool = False,
) -> list[Worker]:
    """Workers that read all partitions of all topics, one for each client and isolation level, in parallel.

    A partition that can't be read to its end by the deadline is recorded as ``info``.

    Args:
        context: context of the run.
        deadline: time of the monotonic clock at which they end.
        dead: OBSERVE listeners of brokers whose processes have ended by themselves.
        recovery_timed_out: whether recovery timed out: then leaders are awaited only briefly once all
            brokers answer.
    """
    now = time.monotonic()
    share_s = (deadline - now) * _SHARE_FOR_LEADERS
    heard_s = min(share_s, _LEADERS_AFTER_TIMEOUT_S) if recovery_timed_out else share_s
    missing = leaderless(context, now + share_s, dead, heard_by=now + heard_s)
    await_ended(context, time.monotonic() + (deadline - time.monotonic()) * _SHARE_FOR_TRANSACTIONS, missing)
    return [FinalReader(context, index, deadline, missing) for index in range(len(context.final_readers))]


def end_by(workers: list[Worker], deadline: float) -> list[str]:
    """Wait for workers that end by themselves; returns complaints about clients that did not close.

    Raises:
        JournalError: the history could not be written.
        WorkloadError: one died, or did not end 15 s after the deadline.
    """
    for worker in workers:
        worker.start()
    return join_all(workers, max(0.0, deadline - time.monotonic()) + _END_GRACE_S)


def leaderless(
    context: AnyContext,
    deadline: float,
    dead: frozenset[Address] = frozenset(),
    *,
    heard_by: float = math.inf,
) -> frozenset[Place]:
    """Wait until all brokers report the same leader of each partition; returns partitions without one.

    A broker that still reports a deposed leader would direct its readers there, and their end would be old.
    A dead broker directs no reader; if all are dead, nothing is awaited.

    Args:
        context: context of the run.
        deadline: time of the monotonic clock at which waiting ends.
        dead: OBSERVE listeners of brokers whose processes have ended by themselves.
        heard_by: time at which waiting ends earlier if all brokers answer.
    """
    asked = [address for address in context.brokers if address not in dead]
    pause = Event()
    while True:
        answers = [_leaders(address, context) for address in asked]
        views = [answer or frozenset() for answer in answers] or [frozenset()]
        until = deadline if None in answers else min(deadline, heard_by)
        everything = {(topic, number) for topic in context.topics for number in context.partitions_of(topic)}
        led = frozenset((one.topic, one.partition) for one in frozenset.intersection(*views))
        if led >= everything or not asked or time.monotonic() >= until:
            return frozenset(everything - led)
        pause.wait(_PAUSE_S)


class Leadership(NamedTuple):
    """A partition's leader, as a broker reports it."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int


def _leaders(address: Address, context: AnyContext) -> frozenset[Leadership] | None:
    """The leaders of all partitions that have one; None without an answer.

    This also finds added partitions, whatever the outcome of the request that added them was.
    """
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        seen = endpoint.cluster(context.topics).topics
    except WireError:
        return None
    finally:
        endpoint.close()
    for name, topic in seen.items():
        context.sizes.grew(name, max((state.partition + 1 for state in topic.partitions), default=0))
    return frozenset(
        Leadership(name, state.partition, state.leader, state.leader_epoch)
        for name, topic in seen.items()
        for state in topic.partitions
        if state.leader >= 0
    )


class PartitionRead(NamedTuple):
    """The records that were read from a partition, the last position, and the last error."""

    messages: list[Message]
    position: int
    failure: str | None


class PartitionReader(Worker):
    """Reads partitions from the first offset to the end, with one client in one isolation level.

    Args:
        context: context of the run.
        name: name of the worker.
        kind: the client library.
        isolation: the isolation level.
        deadline: time of the monotonic clock at which it gives up.
    """

    def __init__(
        self, context: AnyContext, name: str, kind: ClientKind, isolation: Isolation, deadline: float
    ) -> None:
        super().__init__(name)
        self._context = context
        self._kind, self._isolation = kind, isolation
        self._deadline = deadline
        self._topic = context.topic
        self._client: LogConsumer | None = None

    def _listed(self, partitions: list[int]) -> dict[int, tuple[int, int]] | str:
        """First and end offsets, or the reason why there are none."""
        failure = "no time was left"
        while time.monotonic() < self._deadline:
            try:
                return self._connected().offsets(partitions, _OFFSETS_TIMEOUT_S)
            except (ClientFailedError, ReadError) as error:
                failure = describe(error)
                self._disconnect()
        return failure

    def _read_until(self, partition: int, start: int, end: int) -> PartitionRead:
        """Read from start to the end or the deadline."""
        messages: list[Message] = []
        position = start
        failure = None
        assigned = False
        while position < end and time.monotonic() < self._deadline:
            try:
                client = self._connected()
                if not assigned:
                    client.assign({partition: position})
                    assigned = True
                messages += client.poll(_POLL_WAIT_S)
                position = max(position, client.position(partition) or 0)
            except (ClientFailedError, ReadError) as error:
                failure = describe(error)
                self._disconnect()
                assigned = False
            position = max(position, messages[-1].offset + 1 if messages else start)
        return PartitionRead(messages, position, failure)

    def _connected(self) -> LogConsumer:
        if self._client is None:
            self._client = self._context.clients.consumer(self._kind, self._topic, self._isolation)
        return self._client

    def _disconnect(self) -> None:
        self.dismiss(self._client)
        self._client = None
        self.stopping.wait(_PAUSE_S)


class FinalReader(PartitionReader):
    """Reads every partition with one client in one isolation level."""

    def __init__(self, context: AnyContext, index: int, deadline: float, missing: frozenset[Place]) -> None:
        kind, isolation = context.final_readers[index]
        super().__init__(context, f"final-reader-{index}", kind, isolation, deadline)
        self._recorder = context.recorder(context.probe + 1 + index, "final reader")
        self._missing = missing

    def work(self) -> None:
        """Read one topic after the other."""
        for topic in (topic.name for topic in self._context.workload.topics if topic.read):
            self._topic = topic
            try:
                self._read_topic()
            finally:
                self.dismiss(self._client)
                self._client = None

    def _read_topic(self) -> None:
        """List the offsets, then read one partition after the other."""
        partitions = self._context.partitions_of(self._topic)
        led = [p for p in partitions if (self._topic, p) not in self._missing]
        listed = self._listed(led) if led else {}
        for partition in partitions:
            self._read(partition, listed)

    def _read(self, partition: int, listed: dict[int, tuple[int, int]] | str) -> None:
        who = FinalReadRequested(self._kind, self._isolation, partition)
        self._recorder.invoke("final-read", self._topic, who)
        if isinstance(listed, str) or partition not in listed:
            why = listed if isinstance(listed, str) else "not every broker saw a leader"
            self._recorder.complete(OperationType.INFO, who, why)
            return
        start, end = listed[partition]
        messages, position, failure = self._read_until(partition, start, end)
        fields = (*msgspec.structs.astuple(who), start, end, position, grouped(messages, self._context.codec))
        if position >= end:
            self._recorder.complete(OperationType.OK, FinalRead(*fields))
        else:
            why = failure or "the end was not reached in time"
            self._recorder.complete(OperationType.INFO, FinalReadPart(*fields), why)
