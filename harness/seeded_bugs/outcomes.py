"""What became of a seeded bug in a run, from the run's folder: how far it came, and whether it was seen."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from checkers.verdict import Validity
from harness.evidence import LOG_FILE
from harness.seeded_bugs.traces import Stage, Traces, stage_of, traces_in


class Outcome(StrEnum):
    """How a run with a seeded bug ended; all but the first are kinds of misses."""

    SEEN = "seen"
    NOT_SEEN = "triggered-not-seen"
    """It was triggered, and the verdict is not invalid: a matter of judgement."""
    NEVER_TRIGGERED = "never-triggered"
    """Nothing in the run brought it about: a matter of reach."""
    NOT_INJECTED = "not-injected"


def read_traces(folder: Path, name: str) -> Mapping[str, Traces]:
    """What the log of each node of a run tells of a bug, by node; nodes without a log are left out.

    Raises:
        OSError: a log can't be read.
    """
    logs = sorted(folder.glob(f"nodes/*/{LOG_FILE}"))
    return {log.parent.name: traces_in(log.read_text(errors="replace"), name) for log in logs}


def outcome_of(traces: Mapping[str, Traces], validity: Validity) -> Outcome:
    """What a verdict and the nodes' logs make of it.

    A verdict that is invalid without a trigger has not seen the bug: it is a false alarm, or Kafka's own.
    """
    stage = stage_of(traces.values())
    if stage is Stage.TRIGGERED:
        return Outcome.SEEN if validity is Validity.INVALID else Outcome.NOT_SEEN
    return Outcome.NOT_INJECTED if stage is Stage.NOT_INJECTED else Outcome.NEVER_TRIGGERED


def told(name: str, traces: Mapping[str, Traces]) -> str:
    """One line about how far a bug came."""
    stage = stage_of(traces.values())
    if stage is not Stage.TRIGGERED:
        failures = [failure for node in traces.values() for failure in node.failures]
        return f"{name}: {stage.value.replace('-', ' ')}{f' ({failures[0]})' if failures else ''}"
    triggered = [node for node, trace in traces.items() if trace.triggered]
    times = sum(trace.triggered for trace in traces.values())
    first = min(traces[node].first_at for node in triggered)
    return f"{name}: triggered at least {times:,} times on {', '.join(triggered)}, first at {first}"
