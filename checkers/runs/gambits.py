"""Gambits: whether enough of them were completed, each under load.

A gambit's faults are in force only as long as its conditions take.  So a fault counts if a probe confirmed it
and its gambit was completed, independent of how long it was in force.  A gambit whose condition was not
reached ended early.  This is reported, and is not a defect: a run fails this assumption only if most gambits
ended early.  A gambit that was not started because the schedule had ended does not count as ended early,
because the number of gambits in a schedule depends on how long the earlier ones waited, on the host, and on
Kafka.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from checkers.columns.sends import calls_of
from checkers.columns.tables import Integers
from checkers.evidence.faults import FaultWindow
from checkers.history.faults import GambitEnded
from checkers.history.operations import FAIL, INVOKE, OK, History, Operation
from checkers.history.setup import RequiredNumbers, Setup
from checkers.history.units import NS_PER_MS
from checkers.runs.short_lists import first_of, number_of
from checkers.verdict.verdict import Assumption

GAMBIT = "gambit"
_SHARE_MIN = 1 / 3
"""Required share of gambits that were planned and not too late; a busy host misses some conditions."""


def check_gambits(history: History, setup: Setup, windows: Sequence[FaultWindow]) -> list[Assumption]:
    """The assumptions about a run's gambits; none if no gambit was planned.

    Args:
        history: the history of the run.
        setup: setup of that run.
        windows: windows of its faults.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    if not setup.planned_gambits:
        return []
    ended = ended_gambits(history)
    played = sum(operation.type is OK for operation in ended)
    in_time = setup.planned_gambits - sum(operation.type is FAIL for operation in ended)
    least = max(1, round(in_time * _SHARE_MIN))
    failures = "".join(f"; {o.key} {_kind(o)}: {o.error}" for o in ended if o.type is not OK)
    return [
        Assumption(
            "gambits-played",
            played >= least,
            f"at least {least} of {in_time} gambits that began early enough carried out to their end",
            f"{played} of {len(ended)} that ended{failures}",
        ),
        _under_load(windows, calls_of(history), setup.assumptions),
    ]


def gambit_figures(history: History, setup: Setup | None, windows: Sequence[FaultWindow]) -> dict[str, int]:
    """Number of gambits that were completed, and number of their confirmed faults."""
    if setup is None or not setup.planned_gambits:
        return {}
    return {
        "gambits": sum(operation.type is OK for operation in ended_gambits(history)),
        "faults_of_gambits": sum(window.proven and window.gambit is not None for window in windows),
    }


def ended_gambits(history: History) -> list[Operation]:
    """The end of each started gambit, in order."""
    return [operation for operation in history.of(GAMBIT) if operation.type is not INVOKE]


def _kind(operation: Operation) -> str:
    return msgspec.convert(operation.value, GambitEnded).kind


def _under_load(
    windows: Sequence[FaultWindow], calls: tuple[Integers, Integers], numbers: RequiredNumbers
) -> Assumption:
    """Require that clients sent records from a gambit's first fault until its last fault had ended.

    Records that were sent before and were still unanswered also count, because clients may be blocked during
    a gambit.  A gambit that was shorter than the least duration of a separate fault needs only its share of
    the records.
    """
    begun_ns, ended_ns = calls
    spans: dict[str, tuple[int, int]] = {}
    for window in windows:
        if window.gambit is not None:
            since, until = spans.get(window.gambit, (window.invoked_ns, window.end_ns))
            spans[window.gambit] = min(since, window.invoked_ns), max(until, window.end_ns)
    counts = {
        name: int(np.searchsorted(begun_ns, until, "right") - np.searchsorted(ended_ns, since, "left"))
        for name, (since, until) in spans.items()
    }
    needed = {name: _needed(until - since, numbers) for name, (since, until) in spans.items()}
    return Assumption(
        "gambits-loaded",
        all(count >= needed[name] for name, count in counts.items()),
        f"at least {numbers.invoked_during} records whose send was in progress during each gambit; "
        f"in proportion fewer during one shorter than {numbers.fault_held_ms} ms",
        _scarcest(counts, needed) if counts else "none had a fault",
    )


def _scarcest(counts: Mapping[str, int], needed: Mapping[str, int]) -> str:
    """The gambits with too few records, the smallest share first; the smallest of all if none has."""
    ascending = sorted(counts, key=lambda name: counts[name] / needed[name])
    few = [name for name in ascending if counts[name] < needed[name]]
    least = ascending[0]
    lowest = f"lowest: {counts[least]} ({least}, which needs {needed[least]})"
    lacking = first_of([f"{name}: {counts[name]} of {needed[name]} needed" for name in few])
    return f"{lacking if few else lowest}, of {number_of(len(counts), 'gambit')}"


def _needed(lasted_ns: int, numbers: RequiredNumbers) -> int:
    """The number of records that a gambit of this length needs; at least one."""
    share = min(1.0, lasted_ns / max(1, numbers.fault_held_ms * NS_PER_MS))
    return max(1, round(numbers.invoked_during * share))
