"""Measures the pipeline from stored runs to all tables, as ``krucible pipeline all`` makes them.

Run by ``make bench``.  An operation is a record that was sent, a record that was returned, or one that is
neither; a run has ten thousand.  The time is that of ``local[2]`` once the session is up.  Each size has a
process and a store of its own; memory is the peak of the driver's Python, and of the JVM, which with
``local`` holds the executors as well.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.plausible_runs import write_store
from benchmarks.tables import Table
from results.pipeline.spark.session import opened
from results.pipeline.steps.everything import bring_up_to_date

MASTER = "local[2]"
RUNS = (100, 1_000)


class Measured(NamedTuple):
    """What one size gave: operations, MiB of journals, seconds, MiB at the peak."""

    operations: int
    journals_mib: int
    judged_s: float
    took_s: float
    driver_mib: int
    jvm_mib: int


def measure(runs: int) -> Measured:
    """Write a store of so many runs, and have all tables made of it."""
    with tempfile.TemporaryDirectory(prefix="krucible-bench-") as place:
        store, tables = Path(place) / "runs", Path(place) / "tables"
        write_store(store, runs)
        size = sum(path.stat().st_size for path in store.rglob("history*.jsonl"))

        judged_s = 0.0

        def progress(doing: str, done: int, total: int) -> None:
            nonlocal judged_s
            if doing == "ingest" and done == total:
                judged_s = time.perf_counter() - began

        with opened(MASTER, app="krucible benchmark") as session:
            began = time.perf_counter()
            done = bring_up_to_date(lambda: nullcontext(session), store, tables, progress)
            took_s = time.perf_counter() - began
            gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - nobody else knows the JVM's process
            jvm = gateway.proc.pid
            peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            operations = done.ingested.operations
            return Measured(operations, size >> 20, judged_s, took_s, peak_mib, _peak_mib(jvm))


def _peak_mib(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) >> 10


def main() -> None:
    """Print a table, one line a size."""
    sizes = tuple(map(int, sys.argv[1:])) or RUNS
    columns = (
        "runs",
        "operations",
        "journals, MiB",
        "ingested and judged, s",
        "all, s",
        "operations/s",
        "growth",
    )
    table = Table((*columns, "driver, MiB", "JVM, MiB"))
    before = 0.0
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for runs, one in zip(sizes, pool.imap(measure, sizes), strict=True):
            table.row(
                f"{runs:,}",
                f"{one.operations:,}",
                f"{one.journals_mib:,}",
                *(f"{took_s:.1f}" for took_s in (one.judged_s, one.took_s)),
                f"{one.operations / one.took_s:,.0f}",
                f"{one.took_s / before:.1f}" if before else "-",
                f"{one.driver_mib:,}",
                f"{one.jvm_mib:,}",
            )
            before = one.took_s


if __name__ == "__main__":
    main()
