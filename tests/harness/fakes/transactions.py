"""Transactions in memory: a coordinator that fences, and clients of it whose errors the test decides."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from checkers.history.operations import OperationType
from harness.clients import ClientFailedError, ClientKind, Message, ReadError, SendResult
from harness.clients.transactional import (
    GroupOffsets,
    GroupOptions,
    Identity,
    TopicRecord,
    TransactionalOptions,
    TransactionError,
)
from tests.harness.fakes.log import raise_if

Hook = Callable[[str], Exception | None]
"""Given a transactional id, what is to go wrong now, or None."""


def _well(_name: str) -> Exception | None:
    return None


class FakeCoordinator:
    """Keeps records, who committed them, and groups' offsets; every hook may make a step fail."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.epochs: dict[str, int] = defaultdict(int)
        self.records: list[tuple[TopicRecord, str]] = []
        self.committed: list[bytes] = []
        self.offsets: dict[tuple[str, int], int] = {}
        self.inputs: dict[int, list[bytes]] = {}
        self.made = 0
        self.version: int | None = None
        self.joined: list[GroupOptions] = []
        self.closed = 0
        self.on_make: Hook = _well
        self.on_initialise: Hook = _well
        self.on_begin: Hook = _well
        self.on_send: Hook = _well
        self.on_offsets: Hook = _well
        self.on_commit: Hook = _well
        self.on_abort: Hook = _well
        self.on_poll: Hook = _well
        self.on_rewind: Hook = _well

    def make(self, kind: ClientKind, options: TransactionalOptions) -> "FakeTransactionalProducer":
        assert kind in ClientKind
        raise_if(self.on_make(options.transactional_id))
        with self.lock:
            self.made += 1
        return FakeTransactionalProducer(self, options.transactional_id)

    def join(self, kind: ClientKind, options: GroupOptions) -> "FakeMember":
        assert kind in ClientKind
        raise_if(self.on_make(options.group))
        with self.lock:
            self.made += 1
            self.joined.append(options)
        return FakeMember(self, options)

    def ask(
        self, options: GroupOptions, partitions: Iterable[int], timeout_s: float
    ) -> dict[int, int | None]:
        assert timeout_s > 0
        raise_if(self.on_poll(options.group))
        with self.lock:
            return {partition: self.offsets.get((options.topic, partition)) for partition in partitions}

    def close(self) -> None:
        with self.lock:
            self.closed += 1


class FakeTransactionalProducer:
    def __init__(self, coordinator: FakeCoordinator, name: str) -> None:
        self._coordinator = coordinator
        self._name = name
        self._epoch = -1
        self._sent: list[TopicRecord] = []
        self._offsets: GroupOffsets | None = None

    def initialise(self, timeout_s: float) -> Identity:
        assert timeout_s > 0
        raise_if(self._coordinator.on_initialise(self._name))
        with self._coordinator.lock:
            self._coordinator.epochs[self._name] += 1
            self._epoch = self._coordinator.epochs[self._name]
        return Identity(7, self._epoch)

    def begin(self) -> int | None:
        raise_if(self._coordinator.on_begin(self._name))
        self._sent, self._offsets = [], None
        return self._coordinator.version

    def send(self, batch: Sequence[TopicRecord]) -> list[SendResult]:
        error = self._coordinator.on_send(self._name)
        if error is not None:
            return [SendResult(OperationType.INFO, error=str(error))] * len(batch)
        with self._coordinator.lock:
            self._sent += batch
            first = len(self._coordinator.records)
            self._coordinator.records += [(record, self._name) for record in batch]
        return [SendResult(OperationType.OK, first + index) for index in range(len(batch))]

    def send_offsets(self, offsets: GroupOffsets, timeout_s: float) -> None:
        assert timeout_s > 0
        raise_if(self._coordinator.on_offsets(self._name))
        self._offsets = offsets

    def commit(self, timeout_s: float) -> None:
        assert timeout_s > 0
        raise_if(self._coordinator.on_commit(self._name))
        with self._coordinator.lock:
            if self._coordinator.epochs[self._name] != self._epoch:
                raise TransactionError("fenced", OperationType.FAIL)
            self._coordinator.committed += [record.value for record in self._sent]
            if self._offsets is not None:
                for partition, offset in self._offsets.positions.items():
                    self._coordinator.offsets[self._offsets.topic, partition] = offset

    def abort(self, timeout_s: float) -> None:
        assert timeout_s > 0
        raise_if(self._coordinator.on_abort(self._name))

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._coordinator.close()


class FakeMember:
    """The only member of a group, which owns every partition."""

    def __init__(self, coordinator: FakeCoordinator, options: GroupOptions) -> None:
        self._coordinator = coordinator
        self._options = options
        with coordinator.lock:
            topic = options.topic
            self._positions = {p: coordinator.offsets.get((topic, p), 0) for p in coordinator.inputs}

    def poll(self, max_wait_s: float) -> list[Message]:
        assert max_wait_s > 0
        raise_if(self._coordinator.on_poll(self._options.group))
        found = []
        for partition, position in self._positions.items():
            values = self._coordinator.inputs[partition][position : position + 2]
            found += [Message(partition, position + index, value) for index, value in enumerate(values)]
            self._positions[partition] += len(values)
        if not found:
            threading.Event().wait(0.005)
        return found

    def rewind(self, positions: Mapping[int, int]) -> None:
        raise_if(self._coordinator.on_rewind(self._options.group))
        self._positions.update(positions)

    def membership(self) -> Any:
        return "member"

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._coordinator.close()


__all__ = ["ClientFailedError", "FakeCoordinator", "Hook", "ReadError", "TransactionError"]
