"""Measures the pipeline from stored runs to all tables: ingest, check, and what is computed from them.

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
from results.pipeline.analytics.updating import compute
from results.pipeline.check import check
from results.pipeline.ingest import Ingested, Opening, ingest
from results.pipeline.progress import Progress
from results.pipeline.session import opened

MASTER = "local[2]"
RUNS = (100, 1_000)


class Measured(NamedTuple):
    """What one size gave: operations, MiB of journals, seconds of each step, MiB at the peak."""

    operations: int
    journals_mib: int
    ingest_s: float
    check_s: float
    tables_s: float
    driver_mib: int
    jvm_mib: int

    @property
    def took_s(self) -> float:
        """All steps."""
        return self.ingest_s + self.check_s + self.tables_s


def measure(runs: int) -> Measured:
    """Write a store of so many runs, and have all tables made of it."""
    with tempfile.TemporaryDirectory(prefix="krucible-bench-") as place:
        store, tables = Path(place) / "runs", Path(place) / "tables"
        write_store(store, runs)
        size = sum(path.stat().st_size for path in store.rglob("history*.jsonl"))

        def ingest_all(opening: Opening, tables: Path, progress: Progress) -> Ingested:
            return ingest(opening, store, tables, progress)

        with opened(MASTER, app="krucible benchmark") as session:
            took_s: list[float] = []
            gave: list[Any] = []
            for step in (ingest_all, check, compute):
                began = time.perf_counter()
                gave.append(step(lambda: nullcontext(session), tables, _silent))
                took_s.append(time.perf_counter() - began)
            jvm = session.sparkContext._gateway.proc.pid  # noqa: SLF001 - nobody else knows the JVM's process
            peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            return Measured(gave[0].operations, size >> 20, *took_s, peak_mib, _peak_mib(jvm))


def _silent(doing: str, done: int, total: int) -> None:
    """Progress would be a column too many."""


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
        "ingest, s",
        "check, s",
        "tables, s",
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
                *(f"{took_s:.1f}" for took_s in (one.ingest_s, one.check_s, one.tables_s)),
                f"{one.operations / one.took_s:,.0f}",
                f"{one.took_s / before:.1f}" if before else "-",
                f"{one.driver_mib:,}",
                f"{one.jvm_mib:,}",
            )
            before = one.took_s


if __name__ == "__main__":
    main()
