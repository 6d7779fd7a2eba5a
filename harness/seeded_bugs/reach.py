"""How far a seeded bug got in a stored run, by the logs of its nodes."""

from collections.abc import Mapping
from pathlib import Path

from harness.cluster.logs import LOG_FILE
from harness.seeded_bugs.traces import BugStage, Traces, stage_of, traces_in


def read_traces(folder: Path, name: str) -> Mapping[str, Traces]:
    """What the log of each node of a run reports a bug, by node; nodes without a log are left out.

    Raises:
        OSError: a log can't be read.
    """
    logs = sorted(folder.glob(f"nodes/*/{LOG_FILE}"))
    return {
        log.parent.name: traces_in(log.read_text(encoding="utf-8", errors="replace"), name) for log in logs
    }


def stage_in(folder: Path, name: str) -> BugStage | None:
    """How far a bug came in a run; None where the folder has no log of any node, so that nothing is reported.

    Raises:
        OSError: a log can't be read.
    """
    traces = read_traces(folder, name)
    return stage_of(traces.values()) if traces else None


def reach_text(name: str, traces: Mapping[str, Traces]) -> str:
    """One line about how far a bug came."""
    stage = stage_of(traces.values())
    if stage is not BugStage.TRIGGERED:
        failures = [failure for node in traces.values() for failure in node.failures]
        return f"{name}: {stage.value.replace('-', ' ')}{f' ({failures[0]})' if failures else ''}"
    triggered = [node for node, trace in traces.items() if trace.triggered]
    times = sum(trace.triggered for trace in traces.values())
    first = min(traces[node].first_at for node in triggered)
    return f"{name}: triggered at least {times:,} times on {', '.join(triggered)}, first at {first}"
