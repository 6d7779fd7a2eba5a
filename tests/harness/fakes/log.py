"""A log in memory with two clients, whose errors the test decides."""

import threading
from collections.abc import Callable, Mapping, Sequence

from checkers.history.operations import OperationType
from harness.clients import (
    ClientFailedError,
    ClientKind,
    Isolation,
    LogConsumer,
    LogProducer,
    Message,
    ProducerRecord,
    ReadError,
    SendResult,
)
from harness.clients.administrator import Administrator, AdministratorOptions
from harness.clients.group import GroupMember, MemberOptions
from harness.clients.share import ShareAdmin, ShareAdminOptions, ShareConsumer, ShareOptions
from harness.clients.streams import StreamsMember, StreamsOptions
from harness.clients.transactional import (
    GroupConsumer,
    GroupOptions,
    TransactionalOptions,
    TransactionalProducer,
)

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO


class FakeLog:
    """Implements `Clients`; every hook returns what is to go wrong, or None."""

    def __init__(self, partitions: int) -> None:
        self.partitions: list[list[bytes | None]] = [[] for _ in range(partitions)]
        self.lock = threading.Lock()
        self.controls: set[tuple[int, int]] = set()
        """Partition and offset of records that are not for readers."""
        self.made: list[str] = []
        self.closed = 0
        self.on_make: Callable[[str], Exception | None] = lambda _what: None
        self.on_send: Callable[[ProducerRecord], SendResult | None] = lambda _record: None
        self.on_assign: Callable[[Mapping[int, int]], Exception | None] = lambda _positions: None
        self.on_poll: Callable[[], Exception | None] = lambda: None
        self.on_offsets: Callable[[], Exception | None] = lambda: None
        self.on_close: Callable[[], Exception | None] = lambda: None

    def producer(self, kind: ClientKind, topic: str, *, durable: bool = False) -> LogProducer:
        assert topic == "log-0"
        self._make(f"{kind} producer{' durable' if durable else ''}")
        return FakeProducer(self)

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> LogConsumer:
        assert topic == "log-0"
        self._make(f"{kind} {isolation}")
        return FakeConsumer(self)

    def transactional(self, kind: ClientKind, options: TransactionalOptions) -> TransactionalProducer:
        raise AssertionError((kind, options))

    def member(self, kind: ClientKind, options: MemberOptions) -> GroupMember:
        raise AssertionError((kind, options))

    def copier(self, kind: ClientKind, options: GroupOptions) -> GroupConsumer:
        raise AssertionError((kind, options))

    def administrator(self, kind: ClientKind, options: AdministratorOptions) -> Administrator:
        raise AssertionError((kind, options))

    def share_consumer(self, options: ShareOptions) -> ShareConsumer:
        raise AssertionError(options)

    def share_admin(self, options: ShareAdminOptions) -> ShareAdmin:
        raise AssertionError(options)

    def streams_member(self, options: StreamsOptions, cancelled: threading.Event) -> StreamsMember:
        raise AssertionError((options, cancelled))

    def _make(self, what: str) -> None:
        raise_if(self.on_make(what))
        with self.lock:
            self.made.append(what)

    def append(self, record: ProducerRecord) -> int:
        with self.lock:
            self.partitions[record.partition].append(record.value)
            return len(self.partitions[record.partition]) - 1

    def close(self) -> None:
        with self.lock:
            self.closed += 1
        raise_if(self.on_close())


class FakeProducer:
    def __init__(self, log: FakeLog) -> None:
        self._log = log

    def send(self, batch: Sequence[ProducerRecord]) -> list[SendResult]:
        return [self._log.on_send(record) or SendResult(OK, self._log.append(record)) for record in batch]

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._log.close()


class FakeConsumer:
    def __init__(self, log: FakeLog) -> None:
        self._log = log
        self._positions: dict[int, int] = {}

    def assign(self, positions: Mapping[int, int]) -> None:
        raise_if(self._log.on_assign(positions))
        self._positions = dict(positions)

    def poll(self, max_wait_s: float) -> list[Message]:
        assert max_wait_s > 0
        raise_if(self._log.on_poll())
        found = []
        with self._log.lock:
            for partition, position in self._positions.items():
                values = self._log.partitions[partition][position : position + 2]
                found += [
                    Message(partition, position + i, value)
                    for i, value in enumerate(values)
                    if (partition, position + i) not in self._log.controls
                ]
                self._positions[partition] += len(values)
        return found

    def position(self, partition: int) -> int | None:
        return self._positions.get(partition)

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        assert timeout_s > 0
        raise_if(self._log.on_offsets())
        with self._log.lock:
            return {partition: (0, len(self._log.partitions[partition])) for partition in partitions}

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._log.close()


def raise_if(error: Exception | None) -> None:
    if error is not None:
        raise error


def once(error: Exception) -> Callable[[], Exception | None]:
    """A hook that goes wrong the first time."""
    errors: list[Exception] = [error]
    return lambda: errors.pop() if errors else None


__all__ = ["ClientFailedError", "FakeLog", "ReadError", "once"]
