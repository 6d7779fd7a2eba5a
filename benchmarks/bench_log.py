"""Measures how many records a second the log checker judges, and how its time grows with their number.

Run by ``make bench``.  A record counts each time that it is sent or returned.  The history is a correct
one: every record is sent once, polled once, and read to the end by both clients at both isolation levels.
It is judged twice: in few partitions with many records, and in many partitions with two.  Each measure has
a process of its own, so that the peak of its memory is its own; a record's share of it leaves out what the
imports take.
"""

import multiprocessing
import resource
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.tables import Table
from checkers.columns.tables import (
    Assigns,
    Calls,
    Columns,
    FinalReads,
    Integers,
    PartitionName,
    ReaderName,
    Reads,
    SendOutcome,
    Sends,
)
from checkers.logs.log import check_columns
from checkers.verdict.verdict import Validity

PARTITIONS = 64
BATCH = 8
POLL = 500
PROCESSES = 16
FINAL_READERS = 4
COPIES = 2 + FINAL_READERS
SIZES = (10**4, 10**5, 10**6, 10**7)
SPARSE = 2
"""Records in each partition of a history with many of them."""


class Layout(NamedTuple):
    """How many partitions there are, and how many records a producer sends to one at once."""

    partitions: int
    batch: int


class Measured(NamedTuple):
    """What one measure gave: sizes, seconds of CPU, MiB, bytes."""

    records: int
    partitions: int
    took_s: float
    peak_mib: int
    record_bytes: int


def columns_of_size(records: int, layout: Layout) -> Columns:
    """A correct history in which about so many records are sent or returned."""
    partitions, batch = layout
    sent = records // COPIES // (partitions * batch) * partitions * batch
    each = sent // partitions
    sends = _sends(sent, layout)
    polls, poll_calls = _reads(sends, each, partitions, final=False)
    finals = [_reads(sends, each, partitions, final=True, reader=reader) for reader in range(FINAL_READERS)]
    calls = [poll_calls, *(final_calls for _, final_calls in finals)]
    first = np.cumsum([0, *(len(some.op) for some in calls)])
    rows = [polls, *(final_rows for final_rows, _ in finals)]
    final = np.arange(FINAL_READERS * partitions)
    return Columns(
        partitions=tuple(PartitionName("log-0", number) for number in range(partitions)),
        readers=tuple(ReaderName(f"client-{number}", "read_committed") for number in range(FINAL_READERS)),
        others=(),
        sends=sends,
        reads=_joined_reads(rows, first[:-1]),
        calls=_joined_calls(calls),
        assigns=Assigns(
            np.arange(partitions),
            np.arange(partitions),
            np.zeros(partitions, np.int64),
            np.arange(partitions),
        ),
        final_reads=FinalReads(
            call=final + first[1],
            partition=final % partitions,
            start=np.zeros_like(final),
            end=np.full_like(final, each),
            position=np.full_like(final, each),
            listed_ns=np.full_like(final, int(sends.completed_ns[-1])),
            whole=np.ones(len(final), np.bool_),
        ),
        final_readers=tuple(range(FINAL_READERS)),
        phases={},
    )


def _joined_reads(rows: Sequence[Reads], first: Integers) -> Reads:
    """One table of all rows; `first` has the number of each table's first call."""
    return Reads(
        partition=np.concatenate([some.partition for some in rows]),
        offset=np.concatenate([some.offset for some in rows]),
        value=np.concatenate([some.value for some in rows]),
        call=np.concatenate([some.call + begin for some, begin in zip(rows, first, strict=True)]),
    )


def _joined_calls(calls: Sequence[Calls]) -> Calls:
    names = ("op", "process", "reader", "assignment", "final", "invoked_ns", "completed_ns")
    return Calls(*(np.concatenate([getattr(some, name) for some in calls]) for name in names))


def _sends(sent: int, layout: Layout) -> Sends:
    """Batches, each to one partition; processes take turns, so batches overlap."""
    partitions, batch = layout
    row = np.arange(sent)
    operation = row // batch
    partition = operation % partitions
    offset = operation // partitions * batch + row % batch
    process = operation % PROCESSES
    return Sends(
        partition=partition,
        value=process * 10**9 + row + 1,
        offset=offset,
        outcome=np.full(sent, SendOutcome.OK),
        process=process,
        invoked_ns=operation * 1000,
        completed_ns=(operation + PROCESSES) * 1000 - 1,
        invoke_op=operation * 2,
        complete_op=operation * 2 + 1,
        transactional=np.zeros(sent, np.bool_),
    )


def _reads(sends: Sends, each: int, partitions: int, *, final: bool, reader: int = 0) -> tuple[Reads, Calls]:
    """Every partition from beginning to end: in one call if final, otherwise in polls of `POLL` records."""
    partition = np.repeat(np.arange(partitions), each)
    offset = np.tile(np.arange(each), partitions)
    size = each if final else min(POLL, each)
    per_partition = -(-each // size)
    calls = np.arange(partitions * per_partition)
    of_call = calls // per_partition
    order = np.argsort(sends.partition, kind="stable")
    began_ns = int(sends.completed_ns[-1]) + calls * 1000 + reader * 10**9
    return (
        Reads(partition, offset, sends.value[order], partition * per_partition + offset // size),
        Calls(
            op=calls,
            process=of_call,
            reader=np.full(len(calls), reader),
            assignment=of_call + ((reader + 1) * partitions if final else 0),
            final=np.full(len(calls), final),
            invoked_ns=began_ns + 1,
            completed_ns=began_ns + 2,
        ),
    )


def measure(records: int, layout: Layout) -> Measured:
    """Judge a history of about so many records."""
    before = _peak_bytes()
    columns = columns_of_size(records, layout)
    size = len(columns.sends.value) + len(columns.reads.value)
    began = time.process_time()
    result = check_columns(columns)
    took_s = time.process_time() - began
    if result.validity is not Validity.VALID or result.counts:
        raise AssertionError(f"a correct history was judged {result.validity}: {result.counts}")
    peak = _peak_bytes()
    return Measured(size, layout.partitions, took_s, peak >> 20, (peak - before) // size)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _table(sizes: tuple[int, ...], layouts: tuple[Layout, ...]) -> None:
    """Print one line a size; each is measured in a process of its own."""
    table = Table(("records", "partitions", "CPU s", "records/s", "RSS, MiB", "bytes/record", "growth"))
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        before = 0.0
        for measured in pool.starmap(measure, zip(sizes, layouts, strict=True), chunksize=1):
            records, partitions, took_s, peak_mib, record_bytes = measured
            growth = f"{took_s / before:.1f}" if before else "-"
            table.row(
                f"{records:,}",
                f"{partitions:,}",
                f"{took_s:.3f}",
                f"{records / took_s:,.0f}",
                f"{peak_mib:,}",
                f"{record_bytes:,}",
                growth,
            )
            before = took_s


def main() -> None:
    """Print a table for each layout."""
    print(f"One core. Each record is sent once and returned {COPIES - 1} times, each counted.\n")
    _table(SIZES, tuple(Layout(PARTITIONS, BATCH) for _ in SIZES))
    print(f"\nThe same, {SPARSE} records in each partition:\n")
    _table(SIZES, tuple(Layout(size // COPIES // SPARSE, 1) for size in SIZES))


if __name__ == "__main__":
    main()
