"""How far a seeded bug came in a stored run, by the logs of its nodes."""

from pathlib import Path

from harness.evidence import LOG_FILE
from harness.seeded_bugs.traces import Stage, stage_of, traces_in


def stage_in(folder: Path, bug: str) -> Stage | None:
    """How far a bug came in a run; None where the folder has no log of any node, so that nothing is told.

    Raises:
        OSError: a log is there and can't be read.
    """
    logs = sorted(folder.glob(f"nodes/*/{LOG_FILE}"))
    if not logs:
        return None
    return stage_of(traces_in(log.read_text(encoding="utf-8", errors="replace"), bug) for log in logs)
