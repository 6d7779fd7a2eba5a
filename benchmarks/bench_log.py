"""Measures how many records a second the log checker judges, and how its time grows with their number.

Run by ``python -m benchmarks.bench_log``, or as a file where krucible is installed; ``--large`` adds 10⁷
records.  A record counts each time that it is sent or returned.  The history is a correct one: every record
is sent once, polled once, and read to the end by both clients at both isolation levels.
"""

import argparse
import platform
import resource
import sys
import time

import numpy as np

from checkers.columns import (
    Assigns,
    Calls,
    Columns,
    FinalReads,
    Outcome,
    PartitionName,
    ReaderName,
    Reads,
    Sends,
)
from checkers.log import check_columns
from checkers.verdict import Validity

PARTITIONS = 64
BATCH = 8
POLL = 500
PROCESSES = 16
FINAL_READERS = 4
COPIES = 2 + FINAL_READERS


def columns_of_size(records: int) -> Columns:
    """A correct history in which about so many records are sent or returned."""
    sent = records // COPIES // (PARTITIONS * BATCH) * PARTITIONS * BATCH
    each = sent // PARTITIONS
    sends = _sends(sent)
    polls, poll_calls = _reads(sends, each, final=False)
    finals = [_reads(sends, each, final=True, reader=reader) for reader in range(FINAL_READERS)]
    calls = [poll_calls, *(final_calls for _, final_calls in finals)]
    first = np.cumsum([0, *(len(some.op) for some in calls)])
    rows = [polls, *(final_rows for final_rows, _ in finals)]
    final = np.arange(FINAL_READERS * PARTITIONS)
    return Columns(
        partitions=tuple(PartitionName("log-0", number) for number in range(PARTITIONS)),
        readers=tuple(ReaderName(f"client-{number}", "read_committed") for number in range(FINAL_READERS)),
        others=(),
        sends=sends,
        reads=Reads(
            partition=np.concatenate([some.partition for some in rows]),
            offset=np.concatenate([some.offset for some in rows]),
            value=np.concatenate([some.value for some in rows]),
            call=np.concatenate([some.call + begin for some, begin in zip(rows, first[:-1], strict=True)]),
        ),
        calls=Calls(
            *(
                np.concatenate([getattr(some, name) for some in calls])
                for name in ("op", "process", "reader", "assignment", "final", "invoked_ns", "completed_ns")
            )
        ),
        assigns=Assigns(
            np.arange(PARTITIONS),
            np.arange(PARTITIONS),
            np.zeros(PARTITIONS, np.int64),
            np.arange(PARTITIONS),
        ),
        final_reads=FinalReads(
            call=final + first[1],
            partition=final % PARTITIONS,
            start=np.zeros_like(final),
            end=np.full_like(final, each),
            position=np.full_like(final, each),
            listed_ns=np.full_like(final, int(sends.completed_ns[-1])),
            whole=np.ones(len(final), np.bool_),
        ),
        final_readers=tuple(range(FINAL_READERS)),
        phases={},
    )


def _sends(sent: int) -> Sends:
    """Batches of `BATCH` records, each to one partition; processes take turns, so batches overlap."""
    row = np.arange(sent)
    operation = row // BATCH
    partition = operation % PARTITIONS
    offset = operation // PARTITIONS * BATCH + row % BATCH
    process = operation % PROCESSES
    return Sends(
        partition=partition,
        value=process * 10**9 + row + 1,
        offset=offset,
        outcome=np.full(sent, Outcome.OK),
        process=process,
        invoked_ns=operation * 1000,
        completed_ns=(operation + PROCESSES) * 1000 - 1,
        invoke_op=operation * 2,
        complete_op=operation * 2 + 1,
    )


def _reads(sends: Sends, each: int, *, final: bool, reader: int = 0) -> tuple[Reads, Calls]:
    """Every partition from beginning to end: in one call if final, otherwise in polls of `POLL` records."""
    partition = np.repeat(np.arange(PARTITIONS), each)
    offset = np.tile(np.arange(each), PARTITIONS)
    size = each if final else min(POLL, each)
    per_partition = -(-each // size)
    calls = np.arange(PARTITIONS * per_partition)
    of_call = calls // per_partition
    order = np.argsort(sends.partition, kind="stable")
    began_ns = int(sends.completed_ns[-1]) + calls * 1000 + reader * 10**9
    return (
        Reads(partition, offset, sends.value[order], partition * per_partition + offset // size),
        Calls(
            op=calls,
            process=of_call,
            reader=np.full(len(calls), reader),
            assignment=of_call + ((reader + 1) * PARTITIONS if final else 0),
            final=np.full(len(calls), final),
            invoked_ns=began_ns + 1,
            completed_ns=began_ns + 2,
        ),
    )


def measure(records: int) -> tuple[int, float]:
    """Judge a history of about so many records; how many there were, and the seconds that it took."""
    columns = columns_of_size(records)
    size = len(columns.sends.value) + len(columns.reads.value)
    began = time.process_time()
    result = check_columns(columns)
    took = time.process_time() - began
    if result.validity is not Validity.VALID or result.counts:
        raise AssertionError(f"a correct history was judged {result.validity}: {result.counts}")
    return size, took


def main() -> None:
    """Write one line a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="10⁷ records too; needs about 1 GB")
    sizes = (10**5, 10**6, 10**7) if parser.parse_args().large else (10**5, 10**6)
    tell = sys.stdout.write
    tell(f"log checker, one core, {platform.machine()}, Python {platform.python_version()}\n")
    tell(f"{PARTITIONS} partitions; each record is sent once and returned {COPIES - 1} times, each counted\n")
    tell(
        f"{'records':>10} {'of them sent':>12} {'CPU s':>7} {'records/s':>12} {'RSS MiB':>8} {'growth':>7}\n"
    )
    measure(sizes[0])
    before = 0.0
    for wanted in sizes:
        size, took = measure(wanted)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        growth = f"{took / before:.1f}" if before else "-"
        tell(f"{size:>10,} {size // COPIES:>12,} {took:>7.3f} {size / took:>12,.0f} {peak:>8,} {growth:>7}\n")
        before = took


if __name__ == "__main__":
    main()
