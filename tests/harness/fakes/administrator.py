"""What administrators change, in memory; the test decides what goes wrong."""

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

from checkers.history.operations import OperationType
from harness.clients import ClientFailedError, ClientKind
from harness.clients.administrator import AdminAnswer, AdministratorOptions

OK = OperationType.OK


class FakeCluster:
    """Offsets, configs and topics; every hook returns what is to go wrong, or None."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.registers: dict[tuple[Any, ...], int] = {}
        self.topics: dict[str, str] = {}
        self.made: list[ClientKind] = []
        self.closed = 0
        self.on_make: Callable[[], Exception | None] = lambda: None
        self._ids = count()
        self.on_ask: Callable[[str], AdminAnswer | None] = lambda _what: None

    def new_id(self) -> str:
        """An id that no topic had before."""
        return f"id-{next(self._ids)}"

    def administrator(self, kind: ClientKind, options: AdministratorOptions) -> "FakeAdministrator":
        """What `open_administrator` is to the real ones."""
        assert options.bootstrap
        error = self.on_make()
        if error is not None:
            raise error
        with self.lock:
            self.made.append(kind)
        return FakeAdministrator(self)


class FakeAdministrator:
    """Spent after whatever went wrong."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.spent = False

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> AdminAnswer:
        return self._ask("commit", lambda: self._put((group, topic, partition), offset))

    def committed_offset(self, group: str, topic: str, partition: int) -> AdminAnswer:
        return self._ask("committed", lambda: self._cluster.registers.get((group, topic, partition)))

    def alter_config(self, topic: str, key: str, value: int) -> AdminAnswer:
        return self._ask("alter", lambda: self._put((topic, key), value))

    def config(self, topic: str, key: str) -> AdminAnswer:
        return self._ask("config", lambda: self._cluster.registers.get((topic, key)))

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> AdminAnswer:
        assert partitions > 0
        assert replication_factor > 0
        return self._ask("create", lambda: self._cluster.topics.setdefault(topic, self._cluster.new_id()))

    def delete_topic(self, topic: str) -> AdminAnswer:
        return self._ask("delete", lambda: self._cluster.topics.pop(topic) and None)

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        with self._cluster.lock:
            self._cluster.closed += 1

    def _put(self, register: tuple[Any, ...], value: int) -> None:
        self._cluster.registers[register] = value

    def _ask(self, what: str, call: Callable[[], Any]) -> AdminAnswer:
        wrong = self._cluster.on_ask(what)
        if wrong is not None:
            self.spent = True
            return wrong
        with self._cluster.lock:
            return AdminAnswer(OK, call())


__all__ = ["ClientFailedError", "FakeCluster"]
