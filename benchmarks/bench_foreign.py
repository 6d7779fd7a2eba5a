"""Measures how fast others' histories are read: text to operations, and how the time grows with their number.

Run by ``make bench``.  An operation is one map, an invocation or a completion, of a list-append history
with three micro-operations each, that is, about 110 characters.  *Parsed* is each operation taken and let
go; *read* is all of them checked, paired and held, with the memory that this takes.  Making the text is not
measured.
"""

import gzip
import io
import time
import tracemalloc
from collections.abc import Callable

from benchmarks.tables import Table
from checkers.foreign.files import open_source
from checkers.foreign.records import foreign_of

PROCESSES = 10
SIZES = (10**4, 10**5)
MEMORY_MAX = 10**5
"""Larger histories are not traced: tracing makes allocation many times slower."""


def edn_of_size(operations: int) -> str:
    """Maps, one a line."""
    line = (
        "{{:index {}, :time {}, :type :{}, :process {}, :f :txn,"
        " :value [[:append {} {}] [:r 8 nil] [:append 7 {}]]}}\n"
    )
    return "".join(line.format(*_numbers(place)) for place in range(operations))


def json_of_size(operations: int) -> str:
    """Objects, one a line."""
    line = (
        '{{"index":{},"time":{},"type":"{}","process":{},"f":"txn",'
        '"value":[["append",{},{}],["r",8,null],["append",7,{}]]}}\n'
    )
    return "".join(line.format(*_numbers(place)) for place in range(operations))


def log_of_size(operations: int) -> str:
    """Lines of a log."""
    line = (
        "2026-11-21 10:00:00,123 INFO  jepsen.util - {3}\t:{2}\t:txn"
        "\t[[:append {4} {5}] [:r 8 nil] [:append 7 {6}]]\n"
    )
    return "".join(line.format(*_numbers(place)) for place in range(operations))


def _numbers(place: int) -> tuple[int, int, str, int, int, int, int]:
    """Index, time, type, process, key and two elements; as many processes are outstanding as there are."""
    turn, who = divmod(place, PROCESSES)
    element = turn // 2 * PROCESSES + who
    return place, place * 1000, ("invoke", "ok")[turn % 2], who, element % 100, element, element


NOTATIONS: dict[str, Callable[[int], bytes]] = {
    "EDN": lambda size: edn_of_size(size).encode(),
    "EDN, one vector": lambda size: f"[{edn_of_size(size)}]".encode(),
    "EDN, gzip": lambda size: gzip.compress(edn_of_size(size).encode()),
    "JSON Lines": lambda size: json_of_size(size).encode(),
    "JSON array": lambda size: f"[{json_of_size(size)[:-1]}]".replace("\n", ",\n").encode(),
    "Jepsen's log": lambda size: log_of_size(size).encode(),
}


def parse(content: bytes) -> int:
    """Take every operation and let it go; how many there were."""
    source = open_source(io.BufferedReader(io.BytesIO(content)), "history")
    return sum(1 for _ in source.elements)


def read(content: bytes) -> int:
    """Read a history; how many operations it holds."""
    source = open_source(io.BufferedReader(io.BytesIO(content)), "history")
    return len(foreign_of(source.elements, "history", source.damage).records)


def timed(work: Callable[[bytes], int], content: bytes, operations: int) -> float:
    """CPU seconds of reading so many operations."""
    began = time.process_time()
    found = work(content)
    took = time.process_time() - began
    if found != operations:
        raise AssertionError(f"{found} operations were read, {operations} were written")
    return took


def bytes_each(content: bytes, operations: int) -> float:
    """Peak of the memory that reading takes, the text not included, an operation."""
    tracemalloc.start()
    read(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / operations


def main() -> None:
    """Print one line for each notation and size."""
    print("One core, operations of about 110 characters.\n")
    columns = (
        "notation",
        "operations",
        "MB",
        "parsed, s",
        "MB/s",
        "growth",
        "read, s",
        "operations/s",
        "bytes",
    )
    table = Table(columns, texts=1)
    for name, write in NOTATIONS.items():
        before = 0.0
        for size in SIZES:
            content = write(size)
            megabytes = len(gzip.decompress(content) if name == "EDN, gzip" else content) / 1e6
            parsed = timed(parse, content, size)
            whole = timed(read, content, size)
            table.row(
                name,
                f"{size:,}",
                f"{megabytes:.1f}",
                f"{parsed:.3f}",
                f"{megabytes / parsed:.1f}",
                f"{parsed / before:.1f}" if before else "-",
                f"{whole:.3f}",
                f"{size / whole:,.0f}",
                f"{bytes_each(content, size):,.0f}" if size <= MEMORY_MAX else "-",
            )
            before = parsed


if __name__ == "__main__":
    main()
