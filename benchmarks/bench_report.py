"""How long a report takes, and how large it gets; needs no Docker.

Run by `make bench`.  Histories are sends and polls of one topic, evenly spread over two minutes.
"""

import time

from checkers.history.operations import History, Operation, OperationType
from checkers.verdict.verdict import Validity, Verdict
from results.report import render_report

SIZES = (10_000, 100_000, 1_000_000)
RUN_NS = 120 * 10**9


def history(operations: int) -> History:
    """Sends, each invoked and acknowledged a few milliseconds later, by eight workers."""
    made = []
    for number in range(operations // 2):
        at, worker, value = number * RUN_NS * 2 // operations, number % 8, number + 1
        begun = Operation(2 * number, at, worker, OperationType.INVOKE, "send", "log-0", [[0, value]])
        done = [[0, value, number, "ok"]]
        made += [
            begun,
            Operation(2 * number + 1, at + 5_000_000, worker, OperationType.OK, "send", "log-0", done),
        ]
    return History("bench", "2026-01-01T00:00:00Z", tuple(made))


def main() -> None:
    """Measure and print a Markdown table."""
    print("| operations | seconds | operations/s | page, kB |\n|---:|---:|---:|---:|")
    for size in SIZES:
        made = history(size)
        began = time.perf_counter()
        page = render_report(made, Verdict(Validity.VALID, ()))
        took = time.perf_counter() - began
        print(f"| {size:,} | {took:.2f} | {size / took:,.0f} | {len(page.encode()) / 1000:.0f} |")


if __name__ == "__main__":
    main()
