"""Measures how many operations a second the register checker judges, and how its time grows with them.

Run by ``make bench``.  An operation is a write or a read, that is, two lines of a history.  About five
overlap at any time, half of them are writes, and every read returns what a linearizable register holds; in
the history with a violation one read returns a value overwritten long before.  *Columns* are judged by the
zones alone; *whole* are operations in memory, loaded into columns and judged.
"""

import resource
import time
import tracemalloc
from collections.abc import Sequence

import numpy as np

from benchmarks.tables import Table
from checkers.columns.tables import Booleans, Integers
from checkers.history.operations import History, Operation, OperationType
from checkers.registers import check_registers
from checkers.registers.columns import SHIFT, Rows
from checkers.registers.zones import conflicts_of, read_early, zones_of
from checkers.verdict.verdict import Validity

OVERLAP = 10
"""How far apart, in operations, a beginning and its end may lie."""
WHOLE_MAX = 10**6
TIMES = 5
"""How often columns are judged: what else the machine does only ever adds to the time."""
KEYS = (1, 100, 10**5)
SIZES = (10**4, 10**5, 10**6, 10**7)


def rows_of_size(operations: int, keys: int, *, violated: bool, seed: int = 7) -> Rows:
    """A history of so many operations on so many registers, as columns.

    Every operation takes effect halfway: at the moment of its number in the order of effects.
    """
    random = np.random.default_rng(seed)
    effect = np.arange(operations)
    key = random.integers(0, keys, operations)
    write = random.random(operations) < 1 / 2
    value = _held(key, write, effect)
    if violated:
        _violate(key, value, write, effect)
    reach = OVERLAP / 2
    begin = effect - random.random(operations) * reach
    end = effect + random.random(operations) * reach
    stamp = np.empty(2 * operations, dtype=np.int64)
    stamp[np.argsort(np.concatenate((begin, end)), kind="stable")] = np.arange(2 * operations) + SHIFT
    start, finish = stamp[:operations], stamp[operations:]
    order = np.argsort(start)
    initial = np.arange(keys)
    return Rows(
        key=np.concatenate((key[order], initial)),
        value=np.concatenate((value[order], np.full(keys, -1))),
        write=np.concatenate((write[order], np.ones(keys, np.bool_))),
        start=np.concatenate((start[order], np.zeros(keys, np.int64))),
        finish=np.concatenate((finish[order], np.ones(keys, np.int64))),
        horizon=2 * operations + SHIFT,
    )


def _held(key: Integers, write: Booleans, effect: Integers) -> Integers:
    """Number of the last write of each operation's register, -1 before the first."""
    order = np.argsort(key, kind="stable")
    first = np.concatenate(([True], np.diff(key[order]) > 0))
    place = np.arange(len(key))
    group = np.maximum.accumulate(np.where(first, place, 0))
    last = np.maximum.accumulate(np.where(write[order], place, -1))
    held = np.empty(len(key), dtype=np.int64)
    held[order] = np.where(last >= group, effect[order][last], -1)
    return held


def _violate(key: Integers, value: Integers, write: Booleans, effect: Integers) -> None:
    """Let one read in the middle return what its register held long before."""
    reads = effect[~write & (effect > len(effect) // 2)]
    for read in reads.tolist():
        older = effect[: read - 4 * OVERLAP][(key[: read - 4 * OVERLAP] == key[read])]
        older = older[write[older]]
        if len(older) and value[read] != older[-1] and value[read] > older[-1] + 2 * OVERLAP:
            value[read] = older[0]
            return


def judge_rows(rows: Rows) -> int:
    """Judge columns; the number of conflicts."""
    zones = zones_of(rows)
    early = read_early(zones)
    return int(early.sum()) + len(conflicts_of(zones, (zones.writes == 1) & ~early).zone)


def history_of(rows: Rows) -> History:
    """The same as a history in memory, one process for each outstanding operation."""
    begins, ends = np.argsort(rows.start, kind="stable"), rows.finish
    events: list[Operation] = []
    told = np.concatenate((begins[rows.start[begins] >= SHIFT], np.flatnonzero(rows.start >= SHIFT)))
    half = len(told) // 2
    stamps = np.concatenate((rows.start[told[:half]], ends[told[half:]]))
    free, running = list(range(4 * OVERLAP)), {}
    for place in np.argsort(stamps, kind="stable").tolist():
        row, index = int(told[place]), len(events)
        write, value = bool(rows.write[row]), int(rows.value[row])
        shown = None if value < 0 else value
        if place < half:
            running[row] = free.pop()
            kind, answer = OperationType.INVOKE, shown if write else None
        else:
            free.append(running[row])
            kind, answer = OperationType.OK, shown
        f, key = ("write" if write else "read"), f"register-{rows.key[row]}"
        events.append(Operation(index, index * 1000, running[row], kind, f, key, answer))
    return History("bench", "", tuple(events))


def quickest(histories: Sequence[Rows], *, violated: bool) -> list[float]:
    """CPU seconds for the columns of each history.

    They take turns, so that what else the machine does falls on all sizes alike.
    """
    rounds = [[_timed(rows, violated=violated) for rows in histories] for _ in range(TIMES)]
    return [min(each) for each in zip(*rounds, strict=True)]


def bytes_of(rows: Rows, size: int) -> float:
    """Bytes an operation when judging its columns takes most memory."""
    tracemalloc.start()
    judge_rows(rows)
    of_columns = sum(column.nbytes for column in (rows.key, rows.value, rows.write, rows.start, rows.finish))
    each = (tracemalloc.get_traced_memory()[1] + of_columns) / size
    tracemalloc.stop()
    return each


def whole(rows: Rows, *, violated: bool) -> float:
    """CPU seconds from operations in memory to the verdict."""
    history = history_of(rows)
    began = time.process_time()
    validity = check_registers(history).validity
    took = time.process_time() - began
    if validity is not (Validity.INVALID if violated else Validity.VALID):
        raise AssertionError(f"{len(history.operations) // 2} operations were judged {validity}")
    return took


def _timed(rows: Rows, *, violated: bool) -> float:
    began = time.process_time()
    conflicts = judge_rows(rows)
    took = time.process_time() - began
    if (conflicts > 0) is not violated:
        raise AssertionError(f"{conflicts} conflicts were found")
    return took


def main() -> None:
    """Print one line for each size, number of registers and kind of history."""
    print(
        f"One core. *Columns*: zones alone, the quickest of {TIMES} times, sizes in turn. *Whole*: operations"
    )
    print("in memory, loaded and judged, up to 10⁶.\n")
    table = Table(
        (
            "operations",
            "registers",
            "violated",
            "columns, s",
            "operations/s",
            "growth",
            "bytes each",
            "whole, s",
        )
    )
    for keys in KEYS:
        for violated in (False, True):
            sizes = [size for size in SIZES if size > keys]
            histories = [rows_of_size(size, keys, violated=violated) for size in sizes]
            before = 0.0
            for size, rows, took in zip(
                sizes, histories, quickest(histories, violated=violated), strict=True
            ):
                table.row(
                    f"{size:,}",
                    f"{keys:,}",
                    "yes" if violated else "no",
                    f"{took:.4f}",
                    f"{size / took:,.0f}",
                    f"{took / before:.1f}" if before else "-",
                    f"{bytes_of(rows, size):.0f}",
                    f"{whole(rows, violated=violated):.3f}" if size <= WHOLE_MAX else "-",
                )
                before = took
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"\nPeak of the process, the making of the histories included: {peak:,} MiB.")


if __name__ == "__main__":
    main()
