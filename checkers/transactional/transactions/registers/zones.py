"""The real-time order of one register's versions.

If a transaction that ended with version v was complete before another one began that first saw version w,
then w follows v: readers of v come before the writer of w.  That holds in every order of transactions that
respects real time, because a value is written once.  A version's *zone* is given by the first completion of a
transaction that ended with it, and the last invocation of a transaction that first saw it (compare Gibbons
and Korach, Testing Shared Memories, 1997).
"""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Integers
from checkers.transactional.transactions.graph.dependencies import EdgeKind, GraphBuilder
from checkers.transactional.transactions.registers.versions import RegisterTransactions

DIRECT = 16
"""Number of single edges from one reader past a version; further edges are left out."""


class Zones(NamedTuple):
    """Versions that a committed transaction wrote, by key and last invocation.

    Attributes:
        key: code of the key.
        version: the version.
        writer: the transaction that wrote it.
        last_begin: position of the last invocation of a transaction that saw this version first.
        place: by version, its row in these columns, `NONE` for other versions.
        first_end: by version, position of the first completion that ended with it; `NEVER` if there is none.
    """

    key: Integers
    version: Integers
    writer: Integers
    last_begin: Integers
    place: Integers
    first_end: Integers


def add_by_time(builder: GraphBuilder, registers: RegisterTransactions, *, declared_so: bool = False) -> None:
    """Order each reader of a version before the writers of the versions that follow it in real time.

    Args:
        builder: receives the edges.
        registers: the registers.
        declared_so: whether keys are declared to be linearizable.  Then these are dependencies like others,
            and the writer of a version comes before those writers too.
    """
    zones = zones_of(registers)
    rows = registers.good_reads()
    rows = rows[registers.version[rows] < registers.initial]
    _add(builder, registers, zones, rows, (EdgeKind.RW if declared_so else EdgeKind.RW_BY_TIME, EdgeKind.VIA))
    if declared_so:
        _add(builder, registers, zones, zones.version, (EdgeKind.WW, EdgeKind.WW))


def _add(
    builder: GraphBuilder,
    registers: RegisterTransactions,
    zones: Zones,
    rows: Integers,
    kinds: tuple[EdgeKind, EdgeKind],
) -> None:
    """Edges from the transactions of rows past their versions.

    `kinds` are those of the first edge and of the continuing edges.
    """
    operations = registers.operations
    ends = zones.first_end[registers.version[rows]]
    rows, ends = rows[ends != NEVER], ends[ends != NEVER]
    if not len(rows) or not len(zones.key):
        return
    joints = builder.joints(len(zones.key))
    inner = np.flatnonzero(zones.key[1:] == zones.key[:-1])
    builder.add(kinds[1], joints[inner], joints[inner + 1])
    builder.add(kinds[1], joints, zones.writer, zones.version)
    key, reader = operations.key[rows], operations.transaction[rows]
    span = int(max(zones.last_begin.max(), ends.max())) + 2
    codes = zones.key * span + zones.last_begin
    first = np.searchsorted(codes, key * span + ends, side="right")
    beyond = np.searchsorted(zones.key, key, side="right")
    own = _own_places(registers, zones, reader, key)
    low, high = np.sort(np.stack((zones.place[registers.version[rows]], own)), axis=0)
    after = np.maximum(np.maximum(low, high) + 1, first)
    fits = after < beyond
    builder.add(kinds[0], reader[fits], joints[after[fits]], rows[fits])
    for begin, end in (
        (first, np.minimum(low, beyond)),
        (np.maximum(first, low + 1), np.minimum(high, beyond)),
    ):
        _add_between(builder, zones, (reader, rows), (begin, end), kinds[0])


def zones_of(registers: RegisterTransactions) -> Zones:
    """Find the zone of every version that was written by a committed transaction."""
    operations, touches, version = registers.operations, registers.touches, registers.version
    count = registers.initial + len(operations.keys)
    transactions = registers.transactions
    begins = np.full(count, NONE, dtype=np.int64)
    opening = touches.order[touches.first]
    # A transaction's write follows every version that existed before the transaction began, and so does the
    # version that it first saw.
    opening = np.concatenate((opening, np.flatnonzero(registers.final)))
    opening = opening[registers.taking_part[operations.transaction[opening]] & (version[opening] >= 0)]
    np.maximum.at(begins, version[opening], transactions.begin[operations.transaction[opening]])
    ends = np.full(count, NEVER, dtype=np.int64)
    last = np.append(touches.first[1:], True)[: len(touches.first)]
    closing = touches.order[last]
    closing = closing[registers.ok[operations.transaction[closing]] & (version[closing] >= 0)]
    # A last read after a write saw that write, or the transaction is internally inconsistent.
    np.minimum.at(ends, version[closing], transactions.end[operations.transaction[closing]])
    known = np.flatnonzero(registers.final & (version >= 0) & registers.taking_part[operations.transaction])
    order = known[np.lexsort((known, begins[known], operations.key[known]))]
    place = np.full(count, NONE, dtype=np.int64)
    place[order] = np.arange(len(order))
    return Zones(operations.key[order], order, operations.transaction[order], begins[order], place, ends)


def _own_places(registers: RegisterTransactions, zones: Zones, reader: Integers, key: Integers) -> Integers:
    """Row of zones of each reader's own write; `NONE` if it wrote nothing to the key."""
    size = len(registers.operations.keys)
    codes = zones.writer * size + zones.key
    order = np.argsort(codes, kind="stable")
    wanted = reader * size + key
    found = order[np.minimum(np.searchsorted(codes[order], wanted), len(order) - 1)]
    return np.where(codes[found] == wanted, found, NONE)


def _add_between(
    builder: GraphBuilder,
    zones: Zones,
    readers: tuple[Integers, Integers],
    span: tuple[Integers, Integers],
    kind: EdgeKind,
) -> None:
    """Single edges to the first rows of zones in each reader's span."""
    reader, rows = readers
    begin, end = span
    sizes = np.clip(end - begin, 0, DIRECT)
    of = np.repeat(np.arange(len(rows)), sizes)
    step = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    builder.add(kind, reader[of], zones.writer[begin[of] + step], rows[of])
