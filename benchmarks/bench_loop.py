"""How long a machine is without load between two runs of a series, and what that time is spent on.

Run by ``make bench``; needs a Docker engine.  The same runs are made twice: each started when the one before
is over, and each started while the one before ends (`harness.run.standby`).  A first start is left out.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from benchmarks.tables import Table
from harness.campaigns.keeping import keep
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.record.events import Event, PhaseBegan
from harness.run.own_identity import this_krucible
from harness.run.run_host import Host
from harness.run.runner import execute
from harness.run.standby import Standby
from harness.vocabulary import Mode

SCENARIO = "exploratory/chaos"
LOADS_S = (75, 120)
"""Loads that a nightly and a single run have: what the rest of a run is compared to."""
PARTS = ("start", "final read", "evidence", "verdict", "gone")
NODES = {Mode.COMBINED: "4 combined", Mode.ISOLATED: "4 controllers + 4 brokers"}
Marks = dict[str, float]


def run(plan: RunPlan, host: Host) -> Marks:
    """When each phase of a run began, and when it was over, seconds of the monotonic clock."""
    marks = {"begin": time.monotonic()}

    def hear(event: Event) -> None:
        if isinstance(event, PhaseBegan):
            marks.setdefault(event.phase, time.monotonic())

    ended = execute(plan, host, hear, threading.Event())
    keep(ended.folder, ended.history, ended.verdict, this_krucible())
    marks["told"] = time.monotonic()
    if ended.failure is not None:
        raise ended.failure
    marks["gone"] = time.monotonic()
    return marks


def series(plans: Sequence[RunPlan], *, warm: bool) -> list[Marks]:
    """The marks of runs that follow each other."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending:
        runs = Path(folder)
        standby = ending.enter_context(Standby(runs, threading.Event())) if warm else None
        hosts = [Host(runs=runs, standby=standby, following=then) for then in (*plans[1:], None)]
        return [run(plan, host) for plan, host in zip(plans, hosts, strict=True)]


def parts(before: Marks, after: Marks) -> tuple[float, ...]:
    """Seconds between the loads of two runs: all of them, then by `PARTS`."""
    off = before["final-read"]
    return (
        after["load"] - off,
        after["load"] - after["begin"],
        before["evidence"] - off,
        before["done"] - before["evidence"],
        before["told"] - before["done"],
        before["gone"] - before["told"],
    )


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--duration-s", type=int, default=30)
    parser.add_argument("--mode", type=Mode, nargs="*", default=list(NODES))
    asked = parser.parse_args()
    print(f"{SCENARIO}, {asked.duration_s} s of load, {asked.times} runs in each series; medians, seconds.\n")
    table = Table(("nodes", "next start", "between", *PARTS, *(f"of {s} s" for s in LOADS_S)), texts=2)
    for mode in asked.mode:
        options = RunOptions(scenario=SCENARIO, seed=0, mode=mode, duration_s=asked.duration_s)
        seeds = range(1, asked.times + 1)
        plans = [plan_run(replace(options, seed=seed)) for seed in seeds]
        for warm, told in ((False, "when it is over"), (True, "beside its end")):
            marks = series(plans, warm=warm)
            measured = [parts(*pair) for pair in pairwise(marks)]
            medians = [statistics.median(column) for column in zip(*measured, strict=True)]
            shares = [f"{100 * medians[0] / load_s:.0f} %" for load_s in LOADS_S]
            table.row(NODES[mode], told, *(f"{value:.1f}" for value in medians), *shares)


if __name__ == "__main__":
    main()
