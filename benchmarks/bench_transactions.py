"""Measures the transaction checker on list-append histories: valid ones, and the same with anomalies sown in.

Run by ``make bench``.  Every history is made by a simulator of a strict-serializable store with concurrent
clients.
"""

import gc
import random
import resource
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.tables import Table
from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.transactions import check_list_append, draw_cycle
from checkers.verdict.verdict import CheckerResult, Validity

CLIENTS = 16
KEYS = 8
APPENDS_PER_KEY = 64
MICRO_OPERATIONS = 3
STALE_EVERY = 1000
SIZES = (10**4, 10**5, 10**6)


class Store:
    """Lists that are retired when they are full."""

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._lists: dict[int, list[int]] = {key: [] for key in range(KEYS)}
        self._active = list(range(KEYS))

    def plan(self) -> list[tuple[str, int]]:
        """What a transaction is going to do: append to or read of live keys."""
        draw = self._random.random
        slots = (int(draw() * 2 * KEYS) for _ in range(MICRO_OPERATIONS))
        return [("append" if slot < KEYS else "r", slot % KEYS) for slot in slots]

    def commit(self, plan: list[tuple[str, int]], *, stale: bool) -> list[list[Any]]:
        """Carry it out at once; a stale one reads every list without its last element."""
        done: list[list[Any]] = []
        for word, slot in plan:
            key = self._active[slot]
            content = self._lists[key]
            if word == "r":
                done.append(["r", key, content[:-1] if stale else content[:]])
                continue
            content.append(len(content) + 1)
            done.append(["append", key, len(content)])
            if len(content) == APPENDS_PER_KEY:
                del self._lists[key]
                self._active[slot] = max(self._lists, default=key) + 1 + slot
                while self._active[slot] in self._lists:
                    self._active[slot] += 1
                self._lists[self._active[slot]] = []
        return done


def operations(transactions: int, *, stale: bool) -> Iterator[tuple[int, str, Any]]:
    """Process, type and value of each operation; up to `CLIENTS` transactions are open at any time."""
    rng = random.Random(7)
    store = Store(rng)
    open_now: dict[int, list[list[Any]]] = {}
    for number in range(transactions):
        process = number % CLIENTS if number < CLIENTS else rng.randrange(CLIENTS)
        if process in open_now:
            yield process, "ok", open_now.pop(process)
        plan = store.plan()
        late = stale and number % STALE_EVERY == STALE_EVERY - 1
        # It takes effect at its beginning, so that real time and its effect agree whenever it ends.
        done = store.commit(plan, stale=late)
        yield process, "invoke", [[word, key, None if word == "r" else value] for word, key, value in done]
        open_now[process] = done
    for process, done in open_now.items():
        yield process, "ok", done


def history_of(transactions: int, *, stale: bool) -> History:
    """A history of so many transactions."""
    types = {kind.value: kind for kind in OperationType}
    told = (
        Operation(index, index, process, types[kind], "txn", None, value)
        for index, (process, kind, value) in enumerate(operations(transactions, stale=stale))
    )
    return History("bench", "2026-11-20T00:00:00Z", tuple(told))


class Measured(NamedTuple):
    """CPU seconds, growth of the peak memory for each micro-operation, and the result."""

    took_s: float
    grown_bytes: int
    result: CheckerResult


def measure(transactions: int, *, stale: bool) -> Measured:
    """Judge a history of so many transactions."""
    gc.disable()
    history = history_of(transactions, stale=stale)
    gc.enable()
    gc.collect()
    gc.freeze()
    before = _peak_kib()
    began = time.process_time()
    result = check_list_append(history)
    if stale:
        draw_cycle(result.figures["cycles"][0])
    took = time.process_time() - began
    grown = (_peak_kib() - before) * 1024 // (transactions * MICRO_OPERATIONS)
    gc.unfreeze()
    expected = Validity.INVALID if stale else Validity.VALID
    if result.validity is not expected:
        raise AssertionError(f"judged {result.validity}: {result.counts}, {result.unknown_because}")
    return Measured(took, grown, result)


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Print one line a history."""
    print(
        f"One process; {CLIENTS} clients, {MICRO_OPERATIONS} micro-operations a transaction,"
        f" {APPENDS_PER_KEY} appends a key. *Bytes*: growth of the peak for each micro-operation, beside"
        " the history itself.\n"
    )
    columns = ("history", "transactions", "edges", "cycles", "CPU s", "txn/s", "bytes", "RSS, MiB", "growth")
    table = Table(columns, texts=1)
    for stale in (False, True):
        measure(SIZES[0], stale=stale)
        last = 0.0
        for size in SIZES:
            took, grown, result = measure(size, stale=stale)
            table.row(
                "with cycles, the first drawn" if stale else "valid",
                f"{size:,}",
                f"{sum(result.figures['edges'].values()):,}",
                f"{result.figures['components']:,}",
                f"{took:.3f}",
                f"{size / took:,.0f}",
                grown,
                f"{_peak_kib() // 1024:,}",
                f"{took / last:.1f}" if last else "-",
            )
            last = took


if __name__ == "__main__":
    main()
