"""Simulates a log with transactions, correct or with one defect, and knows which anomalies that may show.

Writers begin transactions over several partitions, then commit or abort them; the answer may be that
nobody knows.  A transaction's records stand in the log at once, its marker takes an offset of every partition
that it wrote to, and read_committed readers see nothing from the first open transaction on.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from checkers.history.operations import History, Operation, OperationType
from tests.checkers.log_histories import READERS, TOPIC

Type = OperationType
WRITERS = 3
CONSUMERS = 4
CONSUMER = 100

DEFECTS = {
    "aborted-visible": {"G1a"},
    "committed-hidden": {"lost-write", "poll-skip", "int-poll-skip", "client-disagreement"},
    "torn": {"lost-write", "poll-skip", "int-poll-skip", "client-disagreement"},
    "clients-differ": {"client-disagreement"},
    "record-lost": {"lost-write", "poll-skip", "int-poll-skip"},
    # What a reader of committed records was given is committed, so that a later reader skips it.
    "behind-open": {"G1a", "lost-write", "poll-skip", "int-poll-skip"},
}
"""What a log with each defect may show, where it shows anything."""

_OPEN, _COMMITTED, _ABORTED = "open", "committed", "aborted"


@dataclass
class _Transaction:
    """What a writer has begun: its records, and where those stand that were appended."""

    process: int
    records: list[tuple[int, int]]
    fate: str = _OPEN
    hidden: set[int] = field(default_factory=set)


@dataclass
class _Entry:
    """A record, or a marker where the value is None."""

    value: int | None
    transaction: _Transaction | None


class TransactionalSimulation:
    """A log of some partitions, its writers and readers, and the history that they write."""

    def __init__(self, seed: int, partitions: int, steps: int, defect: str | None = None) -> None:
        self._random = random.Random(seed)
        self._logs: list[list[_Entry]] = [[] for _ in range(partitions)]
        self._operations: list[Operation] = []
        self._time_ns = 0
        self._writers = list(range(WRITERS))
        self._begun: dict[int, _Transaction] = {}
        self._forgotten: list[_Transaction] = []
        self._sequence = 0
        self._positions: dict[int, list[int]] = {}
        self._steps = steps
        self._defect = defect

    def history(self) -> History:
        """Run it: load, then every open transaction ends, then everything is read."""
        workload = {"kind": "txn", "acks": "all", "idempotent": True}
        topics = [{"name": TOPIC, "partitions": len(self._logs)}]
        self._add("runner", Type.OK, "setup", None, {"topics": topics, "workload": workload})
        for _ in range(self._steps):
            self._random.choice((self._write, self._write, self._send, self._consume))()
        for transaction in list(self._begun.values()):
            self._end(transaction)
        for transaction in self._forgotten:
            self._decide(transaction, _ABORTED)
        self._spoil()
        for partition in range(len(self._logs)):
            for reader in READERS:
                self._final_read(partition, reader)
        return History("run", "", tuple(self._operations))

    def _add(self, process: int | str, kind: Type, f: str, key: Any, value: Any) -> None:
        self._time_ns += 1
        self._operations.append(Operation(len(self._operations), self._time_ns, process, kind, f, key, value))

    def _write(self) -> None:
        slot = self._random.randrange(WRITERS)
        process = self._writers[slot]
        begun = self._begun.get(process)
        if begun is None:
            self._begin(process)
        elif self._end(begun):
            self._writers[slot] += WRITERS

    def _begin(self, process: int) -> None:
        records = []
        for _ in range(self._random.randint(1, 3)):
            self._sequence += 1
            records.append((self._random.randrange(len(self._logs)), self._sequence))
        transaction = self._begun[process] = _Transaction(process, records)
        mops = [["send", TOPIC, partition, value] for partition, value in records]
        asked = {"client": "kafka-python", "end": "commit", "mops": mops}
        self._add(process, Type.INVOKE, "txn", f"tx-{process % WRITERS}", asked)
        if self._random.random() < 0.8:
            self._append(transaction)

    def _append(self, transaction: _Transaction) -> None:
        for partition, value in transaction.records:
            if not any(entry.value == value for entry in self._logs[partition]):
                self._logs[partition].append(_Entry(value, transaction))

    def _end(self, transaction: _Transaction) -> bool:
        """End a transaction; whether its writer does not know how, and retires."""
        fate = self._random.choice((_COMMITTED, _COMMITTED, _ABORTED))
        known = self._random.random() < 0.8
        if fate == _COMMITTED:
            self._append(transaction)
        if known or self._random.random() < 0.5:
            self._decide(transaction, fate)
        else:
            self._forgotten.append(transaction)
        kind = Type.INFO if not known else Type.OK if fate == _COMMITTED else Type.FAIL
        mops = [["send", TOPIC, p, value, self._place(p, value)] for p, value in transaction.records]
        answer = {"client": "kafka-python", "end": "commit", "mops": mops, "ended": None}
        self._add(transaction.process, kind, "txn", f"tx-{transaction.process % WRITERS}", answer)
        del self._begun[transaction.process]
        return not known

    def _decide(self, transaction: _Transaction, fate: str) -> None:
        if transaction.fate != _OPEN:
            return
        transaction.fate = fate
        for partition in {partition for partition, _ in transaction.records}:
            self._logs[partition].append(_Entry(None, None))
        if self._defect == "torn" and fate == _COMMITTED:
            transaction.hidden = {transaction.records[0][1]}
        if self._defect == "committed-hidden" and fate == _COMMITTED:
            transaction.hidden = {value for _, value in transaction.records}

    def _place(self, partition: int, value: int) -> int | None:
        places = [offset for offset, entry in enumerate(self._logs[partition]) if entry.value == value]
        return places[0] if places and self._random.random() < 0.9 else None

    def _send(self) -> None:
        """One record outside of transactions."""
        self._sequence += 1
        partition = self._random.randrange(len(self._logs))
        self._add(50, Type.INVOKE, "send", TOPIC, [[partition, self._sequence]])
        self._logs[partition].append(_Entry(self._sequence, None))
        answer = [[partition, self._sequence, len(self._logs[partition]) - 1, "ok"]]
        self._add(50, Type.OK, "send", TOPIC, answer)

    def _consume(self) -> None:
        process = CONSUMER + self._random.randrange(CONSUMERS)
        if process not in self._positions or self._random.random() < 0.1:
            self._positions[process] = [0 for _ in self._logs]
            places = [[partition, 0] for partition in range(len(self._logs))]
            self._add(process, Type.INVOKE, "assign", TOPIC, places)
            self._add(process, Type.OK, "assign", TOPIC, places)
        isolation = "read_committed" if process % 2 else "read_uncommitted"
        reader = {"client": "kafka-python", "isolation": isolation}
        self._add(process, Type.INVOKE, "poll", TOPIC, reader)
        records = [self._fetch(process, partition, isolation) for partition in range(len(self._logs))]
        self._add(process, Type.OK, "poll", TOPIC, {**reader, "records": records})

    def _fetch(self, process: int, partition: int, isolation: str) -> list[Any]:
        first = self._positions[process][partition]
        last = self._random.randint(first, max(self._end_of(partition, isolation), first))
        self._positions[process][partition] = last
        return self._chunk(partition, first, last, isolation)

    def _end_of(self, partition: int, isolation: str) -> int:
        log = self._logs[partition]
        if isolation == "read_uncommitted" or self._defect == "behind-open":
            return len(log)
        still_open = (
            n for n, entry in enumerate(log) if entry.transaction and entry.transaction.fate == _OPEN
        )
        return next(still_open, len(log))

    def _chunk(self, partition: int, first: int, last: int, isolation: str) -> list[Any]:
        shown = [
            (offset, entry.value)
            for offset, entry in enumerate(self._logs[partition][first:last], first)
            if entry.value is not None and self._is_shown(entry, isolation)
        ]
        return [partition, [offset for offset, _ in shown], [value for _, value in shown]]

    def _is_shown(self, entry: _Entry, isolation: str) -> bool:
        transaction = entry.transaction
        if isolation == "read_uncommitted" or transaction is None:
            return True
        if transaction.fate == _COMMITTED:
            return entry.value not in transaction.hidden
        return self._defect == "aborted-visible" or (
            self._defect == "behind-open" and transaction.fate == _OPEN
        )

    def _spoil(self) -> None:
        """Lose the last record of each log, where that is the defect."""
        if self._defect != "record-lost":
            return
        for log in self._logs:
            for entry in reversed(log):
                if entry.value is not None:
                    entry.value = None
                    break

    def _final_read(self, partition: int, reader: str) -> None:
        client, isolation = READERS[reader]
        asked = {"client": client, "isolation": isolation, "partition": partition}
        end = self._end_of(partition, isolation)
        chunk = self._chunk(partition, 0, end, isolation)
        if self._defect == "clients-differ" and reader == "d":
            del chunk[1][:1], chunk[2][:1]
        self._add(f"reader-{reader}", Type.INVOKE, "final-read", TOPIC, asked)
        limits = {"start": 0, "end": end, "position": end, "records": [chunk]}
        self._add(f"reader-{reader}", Type.OK, "final-read", TOPIC, {**asked, **limits})
