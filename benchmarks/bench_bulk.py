"""Measures how many individually acknowledged records a second the bulk workload records.

Run by ``make bench``.  A cluster of three combined nodes on this machine, no faults, 20 s of load; acks=all,
idempotent, replication factor 3, ``min.insync.replicas`` 2.  Every record's offset is in the history, and the
history is judged.
"""

import tempfile
import threading
from pathlib import Path

from benchmarks.tables import Table
from checkers.history.units import NS_PER_S
from harness.plan.catalogue import AS_GOOD
from harness.plan.planning import RunOptions, RunPlan
from harness.run.run_host import Host
from harness.run.runner import execute
from harness.vocabulary import BulkWorkload, FixedSchedule, Scenario
from harness.vocabulary.version import DEFAULT_VERSION
from results.run.observation import observe

LOAD_MS = 20_000
RATES = (60_000, 120_000, 1_000_000)


def plan(rate: int) -> RunPlan:
    """A run of nothing but load."""
    workload = BulkWorkload(rate=rate)
    schedule = FixedSchedule(steps=(), duration_ms=LOAD_MS)
    scenario = Scenario(summary="load", why="load", schedule=schedule, workload=workload)
    options = RunOptions(scenario="bench/bulk", seed=1)
    return RunPlan(options, scenario, DEFAULT_VERSION, schedule, AS_GOOD, "make bench BENCH=bulk")


def main() -> None:
    """Measure and print a Markdown table."""
    print(f"Kafka {DEFAULT_VERSION}, three combined nodes, {LOAD_MS // 1000} s of load without faults.\n")
    table = Table(("asked for, records/s", "acknowledged/s", "records", "history, MB", "verdict"))
    for rate in RATES:
        with tempfile.TemporaryDirectory() as runs:
            ended = execute(plan(rate), Host(Path(runs)), lambda _event: None, threading.Event())
            if ended.failure is not None:
                raise ended.failure
            seen = observe(ended.history)
            size = sum(path.stat().st_size for path in ended.folder.glob("history-*.jsonl"))
        phases = dict(seen.phases)
        under_load = (seen.acks.time_ns >= phases["load"]) & (seen.acks.time_ns <= phases["heal"])
        acked = int(seen.acks.records[under_load].sum())
        took_s = (phases["heal"] - phases["load"]) / NS_PER_S
        validity = ended.verdict.validity.value
        table.row(f"{rate:,}", f"{acked / took_s:,.0f}", f"{acked:,}", f"{size / 1e6:.1f}", validity)


if __name__ == "__main__":
    main()
