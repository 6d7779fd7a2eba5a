"""Measures how fast replicas are read from disk, written into a history, and judged.

Run by ``python -m benchmarks.bench_replicas``, or as a file where krucible is installed.  Every replica has
one partition's log of one-record batches, as an unbatched idempotent producer leaves them; what is read is in
the page cache.
"""

import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from checkers.history.operations import History, Operation, OperationType
from checkers.history.replicas import REPLICA
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Validity
from harness.evidence.replicas import Reading, seen_of
from harness.kafka.segments.log_folder import read_log

NODES = ("n1", "n2", "n3")
SIZES = (20_000, 200_000, 2_000_000)
DISTINCT = 1_000
"""Batches with a content, and so a checksum, of their own; the rest repeats them at other offsets."""
_OFFSET_BYTES = 8


class Measured(NamedTuple):
    """What one size gave: batches of one replica, its bytes, and seconds."""

    batches: int
    size: int
    read_s: float
    pack_s: float
    packed: int
    judge_s: float


def segment(batches: int) -> bytes:
    """A log of so many batches, all of one size."""
    distinct = np.frombuffer(b"".join(map(_batch, range(DISTINCT))), dtype=np.uint8).reshape(DISTINCT, -1)
    rows = np.tile(distinct, (batches // DISTINCT, 1))
    rows[:, :_OFFSET_BYTES] = np.arange(batches).astype(">i8").view(np.uint8).reshape(-1, _OFFSET_BYTES)
    return rows.tobytes()


def _batch(number: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, number, 0, 0, 1 << 20)
    builder.append(0, 1_700_000_000_000, None, b"9f2c61d0:%010d" % number, [])
    whole = bytearray(builder.build())
    struct.pack_into(">I", whole, 17, calc_crc32c(bytes(whole[21:])))
    return bytes(whole)


def measure(batches: int) -> Measured:
    """Read one replica, write it as an observation, judge three of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "log-0-0"
        folder.mkdir()
        (folder / f"{0:020}.log").write_bytes(segment(batches))
        began = time.process_time()
        log = read_log(folder)
        read = time.process_time()
    # Repeated contents would be repeated sequences, which is what the checker looks for, and pack too well.
    log.columns["base_sequence"][:] = np.arange(batches)
    log.columns["crc"][:] = np.random.default_rng(7).integers(0, 2**32, batches)
    packing = time.process_time()
    seen = seen_of("log-0", 0, Reading(0, log))
    packed = time.process_time()
    value: dict[str, Any] = msgspec.to_builtins(seen)
    history = _history(value, batches)
    judging = time.process_time()
    result = check_replicas(history)
    judged = time.process_time()
    if result.validity is not Validity.VALID or result.figures["batches_compared"] != 2 * batches:
        sys.exit(f"the measure is void: {result}")
    size = sum(map(len, value["batches"].values()))
    return Measured(batches, log.size, read - began, packed - packing, size, judged - judging)


def _history(value: dict[str, Any], end: int) -> History:
    nodes = [{"name": name, "id": number} for number, name in enumerate(NODES, start=1)]
    state = {"topic": "log-0", "partition": 0, "leader": 1, "isr": [1, 2, 3]}
    listed = {"client": "c", "isolation": "read_uncommitted", "partition": 0, "end": end}
    told = [
        ("runner", "setup", None, {"nodes": nodes}, None),
        ("runner", "recover", "log-0", {"partitions": [state]}, None),
        ("reader", "final-read", "log-0", listed, None),
        *(("observer-replicas", "observe", REPLICA, value, name) for name in NODES),
    ]
    operations = tuple(
        Operation(index, 0, process, OperationType.OK, f, key, value, node=node)
        for index, (process, f, key, value, node) in enumerate(told)
    )
    return History("run", "", operations)


def main() -> None:
    """Print a table."""
    measure(DISTINCT)  # loads what numba has compiled
    print("| batches a replica | MB | read and verified, s | batches/s | packed, s | MB | three judged, s |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for size in SIZES:
        m = measure(size)
        print(
            f"| {m.batches:,} | {m.size / 1e6:.1f} | {m.read_s:.2f} | {m.batches / m.read_s:,.0f}"
            f" | {m.pack_s:.2f} | {m.packed / 1e6:.1f} | {m.judge_s:.2f} |"
        )


if __name__ == "__main__":
    main()
