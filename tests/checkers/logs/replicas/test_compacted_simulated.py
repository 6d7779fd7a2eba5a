"""A compacted log with transactions in memory: a correct cleaner is never accused, a wrong one is.

Producers append records, some in transactions.  Each replica cleans a copy of the log, up to a bound of its
own: it maps the keys of what was not cleaned yet to their last offsets, without aborted records, and removes
what is older, what was aborted, and markers and tombstones that an earlier cleaning found alone
(``Cleaner.doClean``, ``CleanedTransactionMetadata``).
"""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.logs.log import check_log
from checkers.logs.replicas.judging import check_replicas
from tests.checkers.logs.replicas.replica_histories import (
    TOPIC_ID,
    Batch,
    history_of,
    observed,
    recovered,
    replica,
)
from tests.checkers.logs.replicas.test_compacted import COMMITTED, UNCOMMITTED, elected

INVOKE, OK, FAIL, INFO = OperationType.INVOKE, OperationType.OK, OperationType.FAIL, OperationType.INFO
KEYS, TOMBSTONES, PLAIN = 9, 3, 1
MARKER = -1


class Entry(NamedTuple):
    """What stands at an offset: a record, or a marker, whose value is -1."""

    offset: int
    value: int
    producer: int
    transaction: int | None
    aborted: bool

    @property
    def key(self) -> int:
        return self.value % KEYS

    @property
    def is_tombstone(self) -> bool:
        return (self.value // KEYS + 1) % TOMBSTONES == 0


class Log:
    """A log, and the operations of its producers."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.entries: list[Entry] = []
        self.operations: list[Operation] = []
        self.now = 0
        self._next = 0

    def fill(self, count: int) -> None:
        """Append records and transactions, one after the other or together."""
        open_: list[tuple[int, int, list[int]]] = []
        for number in range(count):
            chosen = self.draw.random()
            if chosen < 0.5:
                self._send()
            elif chosen < 0.8 and len(open_) < 2:
                began, size = self._tick(), self.draw.randint(1, 3)
                open_.append((began, 10 + number, [self._append(10 + number, number) for _ in range(size)]))
            elif open_:
                self._end(*open_.pop(0))
        for each in open_:
            self._end(*each)
        self._send()

    def _append(self, producer: int, transaction: int | None) -> int:
        self._next += self.draw.randint(1, 3)
        self.entries.append(Entry(len(self.entries), self._next, producer, transaction, aborted=False))
        return len(self.entries) - 1

    def _send(self) -> None:
        began = self._tick()
        offset = self._append(PLAIN, None)
        value = self.entries[offset].value
        self._call(("send", "log-0"), began, [[0, value]], OK, [[0, value, offset, "ok"]])

    def _end(self, began: int, producer: int, offsets: list[int]) -> None:
        """End a transaction; one time in five nobody knows how, and sometimes not where its records are."""
        aborts, known = self.draw.random() < 0.45, self.draw.random() < 0.8
        placed = known or self.draw.random() < 0.5
        for offset in offsets:
            self.entries[offset] = self.entries[offset]._replace(aborted=aborts)
        transaction = self.entries[offsets[0]].transaction
        self.entries.append(Entry(len(self.entries), MARKER, producer, transaction, aborted=aborts))
        sends = [["send", "log-0", 0, self.entries[offset].value] for offset in offsets]
        end = "abort" if aborts and known else "commit"
        asked: dict[str, Any] = {"client": "c", "end": end, "mops": sends}
        mops = [[*send, offset if placed else None] for send, offset in zip(sends, offsets, strict=True)]
        answer = {**asked, "mops": mops, "ended": None}
        self._call(
            ("txn", f"t-{producer}"), began, asked, INFO if not known else FAIL if aborts else OK, answer
        )

    def _tick(self) -> int:
        self.now += 1
        return self.now

    def _call(self, what: tuple[str, str], began: int, asked: Any, kind: OperationType, answer: Any) -> None:
        who = f"{what[1]}-{began}"
        self.operations += [
            Operation(0, began, who, INVOKE, *what, asked),
            Operation(0, self._tick(), who, kind, *what, answer),
        ]


class Replica:
    """A copy of a log that is cleaned."""

    def __init__(self, log: Log, *, expires: bool, takes_aborted: bool) -> None:
        self.left = list(log.entries)
        self._dirty = 0
        self._expires = expires
        self._takes_aborted = takes_aborted
        self._alone: set[int] = set()

    def clean(self, end: int) -> None:
        """One cleaning up to an offset."""
        last = {
            entry.key: entry.offset
            for entry in self.left
            if self._dirty <= entry.offset < end and entry.value != MARKER
            if self._takes_aborted or not entry.aborted
        }
        held = {entry.transaction for entry in self.left if entry.value != MARKER}
        self.left = [e for e in self.left if e.offset >= end or not self._removes(e, last, held)]
        self._alone |= {e.offset for e in self.left if e.offset < end and self._may_expire(e, held)}
        self._dirty = max(self._dirty, end)

    def _may_expire(self, entry: Entry, held: set[int | None]) -> bool:
        if entry.value == MARKER:
            return entry.transaction not in held
        return entry.is_tombstone

    def _removes(self, entry: Entry, last: dict[int, int], held: set[int | None]) -> bool:
        if self._expires and entry.offset in self._alone and self._may_expire(entry, held):
            return True
        if entry.value == MARKER:
            return False
        return entry.aborted or last.get(entry.key, -1) > entry.offset

    def read(self, isolation: str, end: int, at_ns: int) -> Iterator[Operation]:
        """A final read."""
        given = [e for e in self.left if e.value != MARKER and not (isolation == COMMITTED and e.aborted)]
        records = [[0, [e.offset for e in given], [e.value for e in given]]] if given else []
        asked = {"client": "c", "isolation": isolation, "partition": 0}
        answer = {**asked, "start": 0, "end": end, "position": end, "records": records}
        yield Operation(0, at_ns, isolation, INVOKE, "final-read", "log-0", asked)
        yield Operation(0, at_ns + 1, isolation, OK, "final-read", "log-0", answer)

    def disk(self, node: str, end: int, active: int, at_ns: int) -> Operation:
        """What is on the disk."""
        batches = [
            Batch(
                e.offset,
                producer_id=e.producer,
                attributes=(0 if e.transaction is None else 0x10) | (0x20 if e.value == MARKER else 0),
                control=-1 if e.value != MARKER else int(not e.aborted),
            )
            for e in self.left
        ]
        value = replica(batches, log_start=0, end=end, active=active)
        seen = observed(node, value)
        return Operation(0, at_ns, seen.process, OK, "observe", seen.key, value, node=node)


def simulated(seed: int, *, expires: bool, takes_aborted: bool = False) -> History:
    """A run: records, final reads of the leader, n1, and disks; replicas are cleaned all the time."""
    draw = Random(seed)
    log = Log(draw)
    log.fill(draw.randint(4, 40))
    end = len(log.entries)
    active = draw.randint(end // 2, end)
    copies = [Replica(log, expires=expires, takes_aborted=takes_aborted) for _ in range(2)]

    def clean() -> None:
        for each in copies:
            for _ in range(draw.randint(0, 3)):
                each.clean(draw.randint(0, active))

    read_ns = log.now + 10
    clean()
    operations = [*elected(1), *sorted(log.operations, key=lambda each: each.time_ns), recovered((1, 2))]
    operations += copies[0].read(COMMITTED, end, read_ns)
    clean()
    operations += copies[0].read(UNCOMMITTED, end, read_ns + 2)
    clean()
    operations += [each.disk(f"n{n}", end, active, read_ns + 10) for n, each in enumerate(copies, start=1)]
    kept_ms = "0" if expires else "86400000"
    config = {"cleanup.policy": "compact", "delete.retention.ms": kept_ms}
    topic = {"name": "log-0", "topic_id": TOPIC_ID, "partitions": 1, "config": config}
    workload = {"acks": "all", "keys": KEYS, "tombstones": TOMBSTONES}
    return history_of(*operations, setup={"topics": [topic], "workload": workload})


def illegal(history: History) -> set[str]:
    """Ids of what the checkers of logs and of replicas find."""
    results = check_log(history), check_replicas(history)
    return {found.id for result in results for found in result.anomalies if found.illegal}


@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_a_correct_cleaner_is_not_accused(seed: int, *, expires: bool) -> None:
    assert illegal(simulated(seed, expires=expires)) == set()


@pytest.mark.parametrize("expires", [False, True])
def test_one_that_takes_aborted_records_for_the_last_of_their_keys_is_found(*, expires: bool) -> None:
    found = [illegal(simulated(seed, expires=expires, takes_aborted=True)) for seed in range(60)]
    assert sum(map(bool, found)) > 15
    assert set.union(*found) <= {"lost-write", "client-disagreement", "compacted-away", "compacted-early"}
    assert {"lost-write", "compacted-away"} <= set.union(*found)
