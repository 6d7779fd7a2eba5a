"""Simulators of transactional stores of lists, each exactly as weak as its name, with concurrent clients.

Every transaction begins, acts one micro-operation after another and commits or aborts, interleaved with
others at random.  What a store does not promise, it breaks as often as chance lets it.
"""

import random
from collections.abc import Callable
from typing import Any, Protocol

from checkers.history.operations import History, Operation, OperationType

KEYS = 3
Lists = dict[int, list[int]]


class Store(Protocol):
    """A store, spoken to by one transaction at a time."""

    def begin(self, process: int) -> Any: ...
    def read(self, transaction: Any, key: int) -> list[int]: ...
    def append(self, transaction: Any, key: int, element: int) -> None: ...
    def commit(self, transaction: Any) -> bool: ...
    def idle(self, rng: random.Random) -> None: ...


class _Open:
    """A transaction that has not committed."""

    def __init__(self, process: int, snapshot: Lists) -> None:
        self.process = process
        self.snapshot = snapshot
        self.writes: list[tuple[int, int]] = []

    def own(self, key: int) -> list[int]:
        return [element for written, element in self.writes if written == key]


class SnapshotIsolation:
    """Reads a snapshot of the beginning; of two that write one key at once the first to commit wins."""

    def __init__(self) -> None:
        self.lists: Lists = {key: [] for key in range(KEYS)}

    def begin(self, process: int) -> _Open:
        return _Open(process, {key: [*content] for key, content in self.lists.items()})

    def read(self, transaction: _Open, key: int) -> list[int]:
        return transaction.snapshot[key] + transaction.own(key)

    def append(self, transaction: _Open, key: int, element: int) -> None:
        transaction.writes.append((key, element))

    def commit(self, transaction: _Open) -> bool:
        if any(self.lists[key] != transaction.snapshot[key] for key, _ in transaction.writes):
            return False
        for key, element in transaction.writes:
            self.lists[key].append(element)
        return True

    def idle(self, rng: random.Random) -> None:
        """Nothing happens beside transactions."""


class Serializable(SnapshotIsolation):
    """Snapshot isolation that also aborts whoever read what has changed since."""

    def __init__(self) -> None:
        super().__init__()
        self.read_keys: dict[int, set[int]] = {}

    def read(self, transaction: _Open, key: int) -> list[int]:
        self.read_keys.setdefault(id(transaction), set()).add(key)
        return super().read(transaction, key)

    def commit(self, transaction: _Open) -> bool:
        read = self.read_keys.pop(id(transaction), set())
        if any(self.lists[key] != transaction.snapshot[key] for key in read):
            return False
        return super().commit(transaction)


class ReadCommitted(SnapshotIsolation):
    """Every read sees what is committed just then; writes take effect at commit, whatever others did."""

    def read(self, transaction: _Open, key: int) -> list[int]:  # noqa: ARG002 - it has no snapshot
        return [*self.lists[key]]

    def commit(self, transaction: _Open) -> bool:
        for key, element in transaction.writes:
            self.lists[key].append(element)
        return True


class LongFork:
    """Two sites, each with its own keys to write and a copy of the other's that lags, in causal order."""

    def __init__(self) -> None:
        self.sites: list[Lists] = [{key: [] for key in range(KEYS)} for _ in range(2)]
        self.queues: list[list[list[tuple[int, int]]]] = [[], []]

    def begin(self, process: int) -> _Open:
        return _Open(process, {key: [*content] for key, content in self.sites[process % 2].items()})

    def read(self, transaction: _Open, key: int) -> list[int]:
        return transaction.snapshot[key] + transaction.own(key)

    def append(self, transaction: _Open, key: int, element: int) -> None:
        transaction.writes.append((key, element))

    def commit(self, transaction: _Open) -> bool:
        site = transaction.process % 2
        lists = self.sites[site]
        if any(lists[key] != transaction.snapshot[key] for key, _ in transaction.writes):
            return False
        if any(key % 2 != site for key, _ in transaction.writes):
            return False
        for key, element in transaction.writes:
            lists[key].append(element)
        self.queues[1 - site].append(transaction.writes)
        return True

    def idle(self, rng: random.Random) -> None:
        """Perhaps one transaction arrives at the other site."""
        site = rng.randrange(2)
        if self.queues[site] and rng.random() < 0.05:
            for key, element in self.queues[site].pop(0):
                self.sites[site][key].append(element)


class _Client:
    def __init__(self, process: int, transaction: Any, plan: list[tuple[str, int]]) -> None:
        self.process = process
        self.transaction = transaction
        self.plan = plan
        self.done: list[list[Any]] = []


def simulated(store: Store, seed: int, transactions: int = 40, clients: int = 4) -> History:
    """A history of a store."""
    rng = random.Random(seed)
    operations: list[Operation] = []
    open_now: dict[int, _Client] = {}
    begun = elements = 0

    def add(process: int, kind: OperationType, value: list[list[Any]]) -> None:
        index = len(operations)
        operations.append(Operation(index, index * 1000, process, kind, "txn", None, value))

    processes = list(range(clients))
    while begun < transactions or open_now:
        store.idle(rng)
        slot = rng.randrange(clients)
        client = open_now.get(slot)
        if client is None:
            if begun == transactions:
                continue
            begun += 1
            plan = _planned(rng)
            client = _Client(processes[slot], store.begin(processes[slot]), plan)
            open_now[slot] = client
            add(client.process, OperationType.INVOKE, [[word, key, None] for word, key in plan])
        elif client.plan:
            word, key = client.plan.pop(0)
            if word == "r":
                client.done.append(["r", key, store.read(client.transaction, key)])
            else:
                elements += 1
                store.append(client.transaction, key, elements)
                client.done.append(["append", key, elements])
        else:
            del open_now[slot]
            committed = store.commit(client.transaction)
            lost = rng.random() < 0.05
            kind = OperationType.INFO if lost else OperationType.OK if committed else OperationType.FAIL
            add(client.process, kind, client.done)
            if lost:
                processes[slot] += clients
    return History("run", "", tuple(_with_elements(operations)))


def _planned(rng: random.Random) -> list[tuple[str, int]]:
    """Reads first, so that no read of a key comes after the transaction's own append to it."""
    plan = [(rng.choice(["append", "r"]), rng.randrange(KEYS)) for _ in range(rng.randint(1, 4))]
    return sorted(plan, key=lambda step: step[0] == "append")


def _with_elements(operations: list[Operation]) -> list[Operation]:
    """Invocations with the elements that were appended: a client knows them before it begins."""
    answers: dict[int, list[Operation]] = {}
    for operation in operations:
        if operation.type is not OperationType.INVOKE:
            answers.setdefault(int(operation.process), []).append(operation)
    made = []
    for operation in operations:
        value = operation.value
        if operation.type is OperationType.INVOKE:
            done = answers[int(operation.process)].pop(0).value
            value = [[word, key, element if word == "append" else None] for word, key, element in done]
        made.append(
            Operation(
                operation.index, operation.time_ns, operation.process, operation.type, "txn", None, value
            )
        )
    return made


STORES: dict[str, Callable[[], Store]] = {
    "serializable": Serializable,
    "snapshot-isolation": SnapshotIsolation,
    "read-committed": ReadCommitted,
    "long-fork": LongFork,
}
