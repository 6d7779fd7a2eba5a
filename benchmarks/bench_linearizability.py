"""Measures the general check of linearizability on histories of a cas register, and how its time grows.

Run by ``python -m benchmarks.bench_linearizability``.  The histories come from an atomic register on which
operations overlap; where a client crashes, the outcome is unknown.  In a wrong history one read returns
another value, which some other order may explain.  Times are of one core, from the history in memory to the
result with its witness; an operation is an invocation and its completion.
"""

import argparse
import platform
import random
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from checkers.history.operations import History, Operation, OperationType
from checkers.registers.linearizability import cas_register, check_linearizable
from checkers.verdict.verdict import Validity

VALUES = 5
BEGIN = 0.7
"""How likely an idle client begins before an open operation goes on."""
Row = tuple[int, OperationType, str, Any]


@dataclass(slots=True)
class Running:
    """An open operation: who does what, its value, and how it will end once it took effect."""

    process: int
    f: str
    value: Any
    end: OperationType | None = None


def asked(chance: random.Random) -> tuple[str, Any]:
    """Name and argument of an operation."""
    f = chance.choice(("read", "write", "cas"))
    values = [chance.randrange(VALUES) for _ in range(2)]
    return f, {"read": None, "write": values[0], "cas": values}[f]


def effect(state: int, running: Running) -> int:
    """Let an operation take effect: the register's next value."""
    running.end = OperationType.OK
    if running.f == "read":
        running.value = state
    elif running.f == "write":
        return int(running.value)
    elif running.value[0] == state:
        return int(running.value[1])
    else:
        running.end = OperationType.FAIL
    return state


def operations_of(size: int, concurrency: int, crashes: float, chance: random.Random) -> Iterator[Row]:
    """Process, type, name and value of so many operations at an atomic register that begins with 0."""
    state, begun, successor = 0, 0, concurrency
    waiting: list[Running] = []
    free = list(range(concurrency))
    while begun < size or waiting:
        if free and begun < size and (not waiting or chance.random() < BEGIN):
            begun += 1
            running = Running(free.pop(), *asked(chance))
            waiting.append(running)
            yield running.process, OperationType.INVOKE, running.f, running.value
            continue
        running = chance.choice(waiting)
        if running.end is None:
            state = effect(state, running)
            continue
        waiting.remove(running)
        crashed = chance.random() < crashes
        free.append(successor if crashed else running.process)
        successor += crashed
        yield running.process, OperationType.INFO if crashed else running.end, running.f, running.value


def history_of(
    size: int, concurrency: int, *, keys: int = 1, crashes: float = 0.0, wrong: bool = False, seed: int = 1
) -> History:
    """A history of so many operations, spread over so many keys."""
    chance = random.Random(seed)
    rows = [
        (f"key-{key}", key * size + process, kind, f, value)
        for key in range(keys)
        for process, kind, f, value in operations_of(size // keys, concurrency, crashes, chance)
    ]
    operations = [
        Operation(n, n * 1000, who, kind, f, key, value) for n, (key, who, kind, f, value) in enumerate(rows)
    ]
    if wrong:
        reads = [o for o in operations if o.f == "read" and o.type is OperationType.OK]
        chosen = reads[len(reads) // 2]
        operations[chosen.index] = msgspec.structs.replace(chosen, value=(chosen.value + 1) % VALUES)
    return History("bench", "2026-01-01T00:00:00Z", tuple(operations))


class Measured(NamedTuple):
    """Seconds, how many histories have each validity, and how many configurations were remembered."""

    took_s: float
    verdicts: dict[Validity, int]
    configurations: int


def measure(histories: list[History]) -> Measured:
    """Judge some histories."""
    model = cas_register(0)
    began = time.process_time()
    results = [check_linearizable(history, model) for history in histories]
    took_s = time.process_time() - began
    verdicts = {validity: sum(r.validity is validity for r in results) for validity in Validity}
    return Measured(took_s, verdicts, sum(r.figures["configurations"] for r in results))


def tell(name: str, size: int, histories: list[History], before: float = 0.0) -> float:
    """Measure and print one line; the seconds."""
    took, verdicts, configurations = measure(histories)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    total = size * len(histories)
    found = "/".join(str(verdicts[some]) for some in Validity)
    growth = f"{took / before:.1f}" if before else "-"
    print(
        f"| {name} | {len(histories)} | {size:,} | {found} | {took / len(histories) * 1000:,.2f} | "
        f"{total / took:,.0f} | {configurations // len(histories):,} | {peak:,} | {growth} |"
    )
    return took


def main() -> None:
    """Write one line a shape."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.stdout.write(f"linearizability of a cas register, one core, {platform.machine()}, ")
    sys.stdout.write(f"Python {platform.python_version()}\n\n")
    print("| history | how many | operations each | valid/invalid/unknown | ms each | operations/s |", end="")
    print(" configurations each | RSS MiB | growth |\n|---|---:|---:|---|---:|---:|---:|---:|---:|")
    for concurrency in (5, 10, 15, 20, 30):
        for wrong in (False, True):
            name = f"{concurrency} at once{', one read wrong' if wrong else ''}"
            tell(name, 150, [history_of(150, concurrency, wrong=wrong, seed=seed) for seed in range(10)])
    for wrong in (False, True):
        name = f"as recorded from etcd: 5 at once, 10 % crash{', one read wrong' if wrong else ''}"
        tell(name, 85, [history_of(85, 5, crashes=0.1, wrong=wrong, seed=seed) for seed in range(100)])
    for concurrency in (5, 10):
        before = 0.0
        for size in (10**3, 10**4, 10**5):
            before = tell(f"one key, {concurrency} at once", size, [history_of(size, concurrency)], before)
    before = 0.0
    for size in (10**4, 10**5):
        before = tell("100 keys, 5 at once", size, [history_of(size, 5, keys=100)], before)


if __name__ == "__main__":
    main()
