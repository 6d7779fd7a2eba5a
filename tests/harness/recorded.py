"""Journals, read by a test while somebody still writes them."""

from pathlib import Path

import msgspec

from checkers.history.operations import Operation
from checkers.history.runner import END


def recorded(folder: Path, name: str = "worker-*") -> list[Operation]:
    """Operations of all journals of that name, journal by journal, without their ends; none if there is none.

    A line is one ``write``, but whoever reads meanwhile may see its beginning only: what has no end yet is
    left for the next time.
    """
    operations = (
        msgspec.json.decode(line, type=Operation)
        for path in sorted(folder.glob(f"history-{name}.jsonl"))
        for line in path.read_bytes().rpartition(b"\n")[0].split(b"\n")[1:]
    )
    return [operation for operation in operations if operation.f != END]
