"""Reads the dead-letter queue of a share group once its last member has left (KIP-1191)."""

import itertools
import time
from collections.abc import Callable

from checkers.history.operations import OperationType
from checkers.history.shares import DeadLetters, DeadLettersRequested
from checkers.history.units import MS_PER_S
from harness.clients.raw_dead_letters import Letter, fetch_letters, leader_id
from harness.kafka.wire import Connection, WireError
from harness.vocabulary.shares import dead_letter_topic
from harness.workloads.context import REQUEST_MS, Address
from harness.workloads.shares import ShareContext
from harness.workloads.worker import Worker

Connect = Callable[[Address], Connection]
"""Connects to a listener; raises a `WireError`."""
_AGAIN_PAUSE_S = 0.25
_AFTER_MEMBER_S = 5.0
"""How long reading may take at least, also if the last member has left only at the deadline."""


def connected(address: Address) -> Connection:
    """A connection to a listener; as promised by `Connect`."""
    return Connection(*address, timeout_s=REQUEST_MS / MS_PER_S)


class DeadLetterReader(Worker):
    """Reads all partitions of a dead-letter queue, each up to its high watermark.

    Args:
        context: the run's.
        index: which of the groups.
        deadline: time of the monotonic clock by which the last member of the group leaves.
        member: the last member, which has been started; what it does may still add dead letters.
        connect: connects to a broker.
    """

    def __init__(
        self, context: ShareContext, index: int, deadline: float, member: Worker, connect: Connect = connected
    ) -> None:
        number = context.first_final_worker + len(context.workload.groups) + index
        super().__init__(f"letters-{number}")
        self._group = context.workload.groups[index]
        self._topic = dead_letter_topic(self._group)
        self._partitions = context.partitions_of(self._topic)
        self._recorder = context.recorder(number, "reader of dead letters")
        self._codec = context.codec
        self._member = member
        self._deadline = deadline
        self._connect = connect
        pairs = (server.rpartition(":") for server in context.bootstrap)
        self._listeners = tuple((host, int(port)) for host, _, port in pairs)
        self._asked = itertools.cycle(self._listeners)

    def work(self) -> None:
        """Wait for the last member, and read."""
        self._member.join(max(0.0, self._deadline - time.monotonic()))
        deadline = max(self._deadline, time.monotonic() + _AFTER_MEMBER_S)
        for partition in self._partitions:
            self._read(partition, deadline)

    def _read(self, partition: int, deadline: float) -> None:
        """Read one partition; tried again until the deadline."""
        asked = DeadLettersRequested(self._group, partition)
        self._recorder.invoke("dead-letters", self._topic, asked)
        while True:
            try:
                end, letters = self._letters(partition)
            except WireError as error:
                if time.monotonic() >= deadline or self.stopping.wait(_AGAIN_PAUSE_S):
                    self._recorder.complete(OperationType.FAIL, asked, str(error))
                    return
            else:
                break
        records = [
            (one.offset, one.headers, None if one.value is None else self._codec.decode(one.value))
            for one in letters
        ]
        self._recorder.complete(OperationType.OK, DeadLetters(self._group, partition, end, records))

    def _letters(self, partition: int) -> tuple[int, list[Letter]]:
        """The high watermark of a partition, and its records."""
        with self._connect(next(self._asked)) as connection:
            leader = leader_id(connection, self._topic, partition)
        if leader > len(self._listeners):
            raise WireError(f"there is no broker {leader}")
        letters: list[Letter] = []
        with self._connect(self._listeners[leader - 1]) as connection:
            end, found = fetch_letters(connection, self._topic, partition, 0)
            while found:
                letters += found
                _, found = fetch_letters(connection, self._topic, partition, letters[-1].offset + 1)
        if letters and letters[-1].offset < end - 1:
            raise WireError(
                f"{self._topic}/{partition} ends at {end}, and a fetch after {letters[-1].offset} is empty"
            )
        return end, letters
