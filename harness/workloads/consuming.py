"""Consumers of the log workload: each reads all partitions and continues where its predecessor stopped."""

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation, Polled, PollRequested, Records
from harness.clients.interface import (
    ClientFailedError,
    LogConsumer,
    Message,
    ReadError,
)
from harness.record.journal import describe
from harness.workloads.context import LogContext
from harness.workloads.values import ValueCodec
from harness.workloads.worker import Worker

POLL_WAIT_S = 0.5
POLL_PAUSE_S = 0.02
"""Pause between polls, so that each returns several batches and brokers have the CPU meanwhile."""
_OFFSETS_TIMEOUT_S = 4.0
_REMAKE_PAUSE_S = 0.25


class ConsumerWorker(Worker):
    """Polls as one process; after an error, with a new client and assignment, and as a new process."""

    def __init__(self, context: LogContext, index: int, topic: str | None = None) -> None:
        number = context.workload.producers + index
        super().__init__(f"consumer-{number}")
        self._context = context
        self.topic = context.topic if topic is None else topic
        self._codec = context.codec
        kinds = context.libraries
        self._kind = kinds[index % len(kinds)]
        self._isolation = tuple(Isolation)[(index % len(kinds) + index // len(kinds)) % len(Isolation)]
        self._recorder = context.recorder(number, "consumer")
        self._client: LogConsumer | None = None
        self._positions = dict.fromkeys(context.partitions_of(self.topic), 0)
        self._lost: frozenset[int] = frozenset()

    def work(self) -> None:
        """Poll all partitions until stopped."""
        try:
            while not self.stopping.is_set():
                self._take_up()
                if self._client is None and not self._begin():
                    self.stopping.wait(_REMAKE_PAUSE_S)
                elif self._client is not None and not self._poll_once(self._client):
                    self.dismiss(self._client)
                    self._client = None
                else:
                    self.stopping.wait(POLL_PAUSE_S)
        finally:
            self.dismiss(self._client)

    def _take_up(self) -> None:
        """Read added partitions from their beginning, with a new client whose metadata includes them."""
        added = self._context.partitions_of(self.topic)[len(self._positions) :]
        if added:
            self._positions |= dict.fromkeys(added, 0)
            if self._client is not None:
                self.dismiss(self._client)
                self._client = None
                self._recorder.retire()

    def _begin(self) -> bool:
        """Make a client and assign all partitions to it; returns False if that failed."""
        client = None
        try:
            client = self._context.clients.consumer(self._kind, self.topic, self._isolation)
            if self._lost:
                found = client.offsets(sorted(self._lost), _OFFSETS_TIMEOUT_S)
                self._positions.update({partition: first for partition, (first, _) in found.items()})
                self._lost = frozenset()
        except (ClientFailedError, ReadError):
            # No operation has begun, so none has failed; the caller tries again until the load ends.
            self.dismiss(client)
            return False
        assigned = self._assign(client)
        if assigned:
            self._client = client
        else:
            self.dismiss(client)
        return assigned

    def _assign(self, client: LogConsumer) -> bool:
        where = [list(pair) for pair in self._positions.items()]
        self._recorder.invoke("assign", self.topic, where)
        try:
            client.assign(self._positions)
        except ReadError as error:
            self._recorder.complete(OperationType.INFO, where, describe(error))
            return False
        self._recorder.complete(OperationType.OK, where)
        return True

    def _poll_once(self, client: LogConsumer) -> bool:
        who = PollRequested(self._kind, self._isolation)
        self._recorder.invoke("poll", self.topic, who)
        try:
            messages = client.poll(POLL_WAIT_S)
        except ReadError as error:
            self._recorder.complete(OperationType.INFO, who, str(error))
            self._lost = error.out_of_range
            return False
        for message in messages:
            self._positions[message.partition] = message.offset + 1
        records = grouped(messages, self._codec)
        polled = Polled(client=self._kind, isolation=self._isolation, records=records)
        self._recorder.complete(OperationType.OK, polled)
        return True


def grouped(messages: list[Message], codec: ValueCodec) -> Records:
    """Records in the form of the history: ``[partition, [offset, …], [value, …]]``, in the order returned."""
    stretches: Records = []
    for message in messages:
        if not stretches or stretches[-1][0] != message.partition:
            stretches.append((message.partition, [], []))
        stretches[-1][1].append(message.offset)
        stretches[-1][2].append(codec.decode(message.value))
    return stretches
