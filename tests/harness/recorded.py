"""Journals, read by a test while somebody still writes them."""

from pathlib import Path

import msgspec

from checkers.history import Operation


def recorded(folder: Path, name: str = "worker-*") -> list[Operation]:
    """Operations of all journals of that name, journal by journal; none where there is no journal yet.

    A line is one ``write``, but whoever reads meanwhile may see its beginning only: what has no end yet is
    left for the next time.
    """
    return [
        msgspec.json.decode(line, type=Operation)
        for path in sorted(folder.glob(f"history-{name}.jsonl"))
        for line in path.read_bytes().rpartition(b"\n")[0].split(b"\n")[1:]
    ]
