"""Memory of this host, as Linux reports it."""

from pathlib import Path

GIB = 1 << 30
INFORMATION = Path("/proc/meminfo")
THREE_NODES_BYTES = 2 * GIB


def available_bytes() -> int | None:
    """What can be had without swapping; None on a system that does not report."""
    if not INFORMATION.exists():
        return None
    lines = INFORMATION.read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def lacks_for(nodes: int) -> bool:
    """Whether this many more nodes certainly do not fit."""
    available = available_bytes()
    return available is not None and available < nodes * THREE_NODES_BYTES / 3
