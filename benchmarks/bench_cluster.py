"""How long a cluster takes to be ready and to go, and where the time goes; needs a Docker engine.

Run by `make bench`.  Each topology is started several times; medians are printed, seconds.
"""

import argparse
import secrets
import statistics
import tempfile
import time
from pathlib import Path

from harness.cluster.cluster import Plan, start_cluster
from harness.cluster.engine import compose_binary, connect
from harness.cluster.images import ensure_base, ensure_image
from harness.run.readiness import await_ready
from harness.vocabulary import Mode, Topology

VERSION = "4.3.1"
TOPOLOGIES = {
    "1 combined": Topology(controllers=1, brokers=1),
    "3 combined": Topology(),
    "3 controllers + 3 brokers": Topology(mode=Mode.ISOLATED),
}
COLUMNS = ("containers", "controller", "brokers", "write", "ready", "gone")


def measure(topology: Topology) -> tuple[float, ...]:
    """Seconds of one start and removal, in the order of `COLUMNS`; each step counts from the one before."""
    client = connect()
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(
            run=secrets.token_hex(4),
            folder=Path(folder),
            topology=topology,
            version=VERSION,
            kafka_image=ensure_image(VERSION, client=client).reference,
            holder_image=ensure_base(client=client),
        )
        began = time.monotonic()
        cluster = start_cluster(client, plan, compose_binary())
        started = time.monotonic()
        ready = await_ready(cluster)
        stood = time.monotonic()
        cluster.remove()
        gone = time.monotonic()
    client.close()
    steps = (ready.controller_s, ready.brokers_s - ready.controller_s, ready.write_s - ready.brokers_s)
    return (started - began, *steps, stood - began, gone - stood)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    print(f"Kafka {VERSION}, medians of {times} starts, seconds (slowest ready in parentheses)\n")
    print(f"| topology | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for name, topology in TOPOLOGIES.items():
        rows = [measure(topology) for _ in range(times)]
        medians = [statistics.median(column) for column in zip(*rows, strict=True)]
        cells = [f"{value:.2f}" for value in medians]
        cells[4] += f" ({max(row[4] for row in rows):.2f})"
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
