"""Sets and deletes the start offsets of a share group while its members have left (KIP-932).

Kafka changes the start offsets of a share group only if the group has no members.  So one process calls a
break, in which all members leave, sends single requests to the group's coordinator, and ends the break.  A
member that could not leave is removed when its session ends; until then the requests are refused.

All requests for a partition in one break ask for the same offset.  The coordinator may repeat what it asks of
the share coordinator, so a request without an answer may still take effect after the next one was answered.
"""

import random
import time
from collections.abc import Callable

import msgspec

from checkers.history.shares import StartAltered, StartsDeleted
from checkers.history.units import MS_PER_S
from harness.clients.administrator_errors import classify_start
from harness.clients.raw_offsets import find_group
from harness.clients.raw_shares import alter_start, delete_starts
from harness.kafka.wire import Connection, WireError
from harness.workloads.context import REQUEST_MS, Address
from harness.workloads.shares import ShareContext
from harness.workloads.shares_break import Break
from harness.workloads.worker import Worker

Connect = Callable[[Address], Connection]
"""Connects to a listener; raises a `WireError`."""
DELETE_SHARE = 0.1
"""Share of breaks in which start offsets are deleted, so that the group begins at the start of the log."""
PARTITION_SHARE = 0.75
"""Share of partitions whose start offset is set in each of the other breaks."""
DELETE_BELOW = 1_000
"""Start offsets are deleted only while the group has received nothing from this offset on."""
BACK_MAX = 400
"""By how many records a start offset goes back at most; so the group catches up soon."""
FORWARD_SHARE = 0.3
"""Share of start offsets that are set to the end of what the group has received."""
_AGAIN_PAUSE_S = 0.25
_AFTER_SESSIONS_S = 4.0
"""How long it is tried in addition to the time after which a member that could not leave is removed."""


def connected(address: Address) -> Connection:
    """A connection to a listener; as promised by `Connect`."""
    return Connection(*address, timeout_s=REQUEST_MS / MS_PER_S)


class AlteringWorker(Worker):
    """Calls a break from time to time, and changes the start offsets of its group in it.

    Args:
        context: the run's.
        index: which of the groups.
        break_: the group's breaks.
        connect: connects to a broker.
    """

    ends_first = True

    def __init__(
        self, context: ShareContext, index: int, break_: Break, connect: Connect = connected
    ) -> None:
        workload = context.workload
        number = workload.first_altering + index
        super().__init__(f"altering-{number}")
        self._context = context
        self._group = workload.groups[index]
        self._break = break_
        self._connect = connect
        self._recorder = context.recorder(number, "altering")
        self._random = random.Random(f"altering {number}")
        self._interval_s = workload.alter_interval_ms / MS_PER_S
        self._tries_s = workload.session_ms / MS_PER_S + _AFTER_SESSIONS_S
        pairs = (server.rpartition(":") for server in context.bootstrap)
        self._listeners = tuple((host, int(port)) for host, _, port in pairs)
        self._turn = 0

    def work(self) -> None:
        """Make breaks until stopped."""
        while not self.stopping.wait(self._random.uniform(0.5, 1.5) * self._interval_s):
            try:
                if self._break.call(self.stopping):
                    self._turn += 1
                    self._change()
            finally:
                self._break.end()

    def _change(self) -> None:
        """Delete all start offsets, or set those of some partitions."""
        partitions = self._context.partitions_of(self._context.topic)
        received = {p: self._context.highest.of(self._group, p) for p in partitions}
        if self._random.random() < DELETE_SHARE and max(received.values()) < DELETE_BELOW:
            if self._repeated(self._delete_starts):
                for partition in partitions:
                    self._context.highest.begins(self._group, partition, 0)
            return
        for partition, highest in received.items():
            if highest >= 0 and self._random.random() < PARTITION_SHARE:
                self._set(partition, self._drawn(highest))

    def _drawn(self, highest: int) -> int:
        if self._random.random() < FORWARD_SHARE:
            return highest + 1
        return max(0, highest - self._random.randint(0, BACK_MAX))

    def _set(self, partition: int, offset: int) -> None:
        if self._repeated(lambda: self._alter(partition, offset)):
            self._context.highest.begins(self._group, partition, offset)

    def _repeated(self, ask: Callable[[], bool]) -> bool:
        """Repeat a request until it is accepted; returns False if it is not for long."""
        deadline = time.monotonic() + self._tries_s
        while not ask():
            if time.monotonic() >= deadline or self.stopping.wait(_AGAIN_PAUSE_S):
                return False
        return True

    def _alter(self, partition: int, offset: int) -> bool:
        topic = self._context.topic

        def ask(connection: Connection) -> int:
            return alter_start(connection, self._group, topic, partition, offset)

        def asked(to: int) -> StartAltered:
            return StartAltered(topic=topic, turn=self._turn, to=to, partition=partition, offset=offset)

        return self._asked("alter-share-offsets", asked, ask)

    def _delete_starts(self) -> bool:
        topic = self._context.topic

        def ask(connection: Connection) -> int:
            return delete_starts(connection, self._group, topic)

        def asked(to: int) -> StartsDeleted:
            return StartsDeleted(topic=topic, turn=self._turn, to=to)

        return self._asked("delete-share-offsets", asked, ask)

    def _asked(self, f: str, asked: Callable[[int], StartsDeleted], ask: Callable[[Connection], int]) -> bool:
        """Send one request, if a coordinator is known; returns whether it was accepted."""
        try:
            to = self._coordinator()
            connection = self._connect(self._listeners[to - 1])
        except WireError:
            return False
        value = asked(to)
        with connection, self._recorder.operation(f, self._group, value) as outcome:
            try:
                code = ask(connection)
            except WireError as failed:
                outcome.error = str(failed)
                return False
            answered = msgspec.structs.replace(value, code=code)
            if code:
                kind, error = classify_start(code)
                outcome.end(kind, answered, error)
            else:
                outcome.ok(answered)
        return not code

    def _coordinator(self) -> int:
        """Id of the broker that coordinates the group, according to any broker.

        Raises:
            WireError: no answer, an error, or there is no such broker.
        """
        with self._connect(self._random.choice(self._listeners)) as connection:
            found = find_group(connection, self._group)
        if not 0 < found <= len(self._listeners):
            raise WireError(f"there is no broker {found}")
        return found
