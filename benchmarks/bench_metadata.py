"""How fast the records of a metadata log are decoded; needs no Docker.

Run by `make bench`.  The log is one that was recorded of Kafka 4.3.1, with every record in every version; it
is read again until there are enough of them.
"""

import tarfile
import time
from pathlib import Path

from harness.kafka.metadata.reading import FileReader

RECORDED = Path(__file__).parents[1] / "tests/harness/kafka/recorded_metadata/4.3.1-all-versions.tar.xz"
SIZES = (10_000, 40_000, 160_000)


def log() -> bytes:
    """The one file of the recorded log."""
    with tarfile.open(RECORDED) as archive:
        (member,) = (member for member in archive if member.name != "dump.txt")
        file = archive.extractfile(member)
        return file.read() if file else b""


def main() -> None:
    """Measure and print a Markdown table."""
    data = log()
    once = sum(len(batch.records) for _, batch in FileReader().read(data).batches)
    print("| records | seconds | records/s |\n|---:|---:|---:|")
    for size in SIZES:
        times = -(-size // once)
        began = time.perf_counter()
        for _ in range(times):
            FileReader().read(data)
        took = time.perf_counter() - began
        print(f"| {times * once:,} | {took:.2f} | {times * once / took:,.0f} |")


if __name__ == "__main__":
    main()
