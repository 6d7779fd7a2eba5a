"""The final read: everything that the cluster holds, by both clients, in both isolation levels.

Only after every partition has a leader: a Fetch to a follower of a leaderless partition is answered with
nothing and no error, and would make a full log look empty.
"""

import time
from collections.abc import Sequence
from threading import Event
from typing import Any

from checkers.history import OperationType
from harness.clients.interface import (
    ClientFailedError,
    LogConsumer,
    Message,
    ReadError,
)
from harness.journal import Recorder, describe
from harness.wire import Endpoint, WireError
from harness.workloads.consuming import grouped
from harness.workloads.context import FINAL_READERS, LogContext
from harness.workloads.worker import Worker, join_all

_POLL_WAIT_S = 0.5
_PAUSE_S = 0.1
_SHARE_FOR_LEADERS = 0.5
_OFFSETS_TIMEOUT_S = 5.0
_ASK_TIMEOUT_S = 1.5
_END_GRACE_S = 15.0

Address = tuple[str, int]


def final_read(context: LogContext, brokers: Sequence[Address], bound_s: float) -> list[str]:
    """Read all partitions four times over, in parallel; complaints about clients that would not close.

    What could not be read to its end within the bound is recorded as ``info``.

    Args:
        context: the run's.
        brokers: listeners to ask who leads.
        bound_s: for all of it.

    Raises:
        JournalError: the history could not be written.
        WorkloadError: a reader died, or did not end 15 s after the bound.
    """
    began = time.monotonic()
    deadline = began + bound_s
    missing = leaderless(context, brokers, began + bound_s * _SHARE_FOR_LEADERS)
    readers = [FinalReader(context, index, deadline, missing) for index in range(len(FINAL_READERS))]
    for reader in readers:
        reader.start()
    return join_all(readers, deadline - time.monotonic() + _END_GRACE_S)


def leaderless(context: LogContext, brokers: Sequence[Address], deadline: float) -> frozenset[int]:
    """Wait until all brokers see the same leader of each partition; the partitions where they don't.

    A broker that still believes in a deposed leader would send its readers there, and their end would be old.
    """
    everything = frozenset(range(context.workload.partitions))
    pause = Event()
    while True:
        views = [_leaders(address, context.topic) for address in brokers]
        led = frozenset(partition for partition, _, _ in frozenset.intersection(*views))
        if led == everything or time.monotonic() >= deadline:
            return everything - led
        pause.wait(_PAUSE_S)


def _leaders(address: Address, topic: str) -> frozenset[tuple[int, int, int]]:
    """Partition, leader and leader epoch of each partition that has a leader, as one broker sees it."""
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        seen = endpoint.cluster([topic]).topics[topic]
    except WireError:
        return frozenset()
    finally:
        endpoint.close()
    return frozenset(
        (state.partition, state.leader, state.leader_epoch) for state in seen.partitions if state.leader >= 0
    )


class FinalReader(Worker):
    """Reads every partition with one client in one isolation level."""

    def __init__(self, context: LogContext, index: int, deadline: float, missing: frozenset[int]) -> None:
        super().__init__(f"final-reader-{index}")
        number = context.probe + 1 + index
        self._context = context
        self._kind, self._isolation = FINAL_READERS[index]
        self._recorder = Recorder(context.journals.open(f"worker-{number}"), number, context.workers)
        self._deadline = deadline
        self._missing = missing
        self._client: LogConsumer | None = None

    def work(self) -> None:
        """List the offsets, then read one partition after the other."""
        partitions = range(self._context.workload.partitions)
        try:
            listed = self._listed([p for p in partitions if p not in self._missing])
            for partition in partitions:
                self._read(partition, listed)
        finally:
            self.dismiss(self._client)

    def _listed(self, partitions: list[int]) -> dict[int, tuple[int, int]] | str:
        """First and end offsets, or why there are none."""
        failure = "no time was left"
        while time.monotonic() < self._deadline:
            try:
                return self._connected().offsets(partitions, _OFFSETS_TIMEOUT_S)
            except (ClientFailedError, ReadError) as error:
                failure = describe(error)
                self._disconnect()
        return failure

    def _read(self, partition: int, listed: dict[int, tuple[int, int]] | str) -> None:
        who: dict[str, Any] = {
            "client": self._kind,
            "isolation": self._isolation,
            "partition": partition,
        }
        self._recorder.invoke("final-read", self._context.topic, who)
        if isinstance(listed, str) or partition not in listed:
            why = listed if isinstance(listed, str) else "not every broker saw a leader"
            self._recorder.complete(OperationType.INFO, who, why)
            return
        start, end = listed[partition]
        messages, failure = self._read_until(partition, start, end)
        position = messages[-1].offset + 1 if messages else start
        result = {**who, "start": start, "end": end, "position": position}
        result["records"] = grouped(messages, self._context.codec)
        if position >= end:
            self._recorder.complete(OperationType.OK, result)
        else:
            self._recorder.complete(OperationType.INFO, result, failure or "the end was not reached in time")

    def _read_until(self, partition: int, start: int, end: int) -> tuple[list[Message], str | None]:
        """Records from start on until the end or the deadline, and the last error met."""
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
                polled = client.poll(_POLL_WAIT_S)
            except (ClientFailedError, ReadError) as error:
                failure = describe(error)
                self._disconnect()
                assigned = False
                continue
            messages += polled
            position = messages[-1].offset + 1 if messages else position
        return messages, failure

    def _connected(self) -> LogConsumer:
        if self._client is None:
            self._client = self._context.clients.consumer(self._kind, self._isolation)
        return self._client

    def _disconnect(self) -> None:
        self.dismiss(self._client)
        self._client = None
        self.stopping.wait(_PAUSE_S)
