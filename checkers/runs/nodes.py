"""The nodes checker: processes that ended unexpectedly, and errors in the logs of nodes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.node_logs import (
    EXCERPT_CHARACTERS,
    FATAL_LINE,
    FETCHER_STOPPED,
    MARKER_SKIPPED,
    THREAD_DIED,
    UNCAUGHT_EXCEPTION,
    LogLine,
    cause_of_death,
    excerpt,
    findings,
    harmless_reason,
    log_lines,
)
from checkers.history.observed import NODE, NodeSeen
from checkers.history.operations import Decoded, History, Operation
from checkers.history.phases import Phase, phase_began_ns
from checkers.history.setup import Setup, setup_of
from checkers.history.sources import Source
from checkers.runs.registering import NOT_REGISTERED, find_not_registered
from checkers.runs.short_lists import first_of
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, result_of

CHECKER = "nodes"
_SEEN_WITHIN_NS = 2_000_000_000

NODE_DIED = AnomalyKind(
    id="node-died",
    meaning="A Kafka process ended although it was not killed or stopped.",
    guarantee="A broker or controller keeps running until it is told to stop.",
    source="krucible: every planned end is recorded in the history as a kill, a stop or a disk fault",
)
ANOMALIES = by_id(
    NODE_DIED,
    FETCHER_STOPPED,
    FATAL_LINE,
    UNCAUGHT_EXCEPTION,
    THREAD_DIED,
    MARKER_SKIPPED,
    NOT_REGISTERED,
)
NEEDS = Needs(
    (Source.NODES, Source.BROKER_LOGS, Source.CONTROLLER_LOGS),
    {
        "node-died": (Source.FAULTS,),
        "fetcher-stopped": (Source.FAULTS,),
        "controller-not-registered": (Source.FAULTS, Source.NODES, Source.QUORUM),
    },
)
"""The journals that the checker's rules need."""


def check_nodes(history: History) -> CheckerResult:
    """Judge whether all processes ran and ended as planned, and list errors in their logs.

    The result is unknown if a node of the setup was never observed, or not when it was killed or stopped.
    Among the lines in logs, only those of stopped fetchers and of failed registrations can make a history
    invalid.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    windows = fault_windows(history)
    observed = history.seen(NODE, NodeSeen)
    lines = log_lines(history)
    return result_of(
        CHECKER,
        [
            *_deaths(observed, windows, lines, _done_ns(history)),
            *findings(lines, windows),
            *find_not_registered(history, lines, windows),
        ],
        assumptions=(_all_observed(setup_of(history), observed), _ends_observed(observed, windows)),
        figures=_figures(lines),
    )


def _deaths(
    observed: Sequence[Decoded[NodeSeen]],
    windows: Iterable[FaultWindow],
    lines: Sequence[LogLine],
    done_ns: int | None,
) -> Iterator[Anomaly]:
    """Every end of a process, before the end of the run, that no kill, stop or disk fault explains.

    Each of these ends a node's process once.  If the process that its heal started ends too, that is a death.
    """
    spent = {window: set[str]() for window in windows if window.ends_processes}
    last: dict[str | None, tuple[NodeSeen, int]] = {}
    for operation, status in observed:
        before, before_ns = last.get(operation.node, (None, operation.time_ns))
        ended = _ended_since(status, before)
        last[operation.node] = status, operation.time_ns
        over = done_ns is not None and operation.time_ns >= done_ns
        since_ns = operation.time_ns if status.exited else before_ns
        if ended and not over and not _explained(operation, status, since_ns, spent):
            yield _death(operation, status, cause_of_death(lines, operation.node or "", operation.time_ns))


def _ended_since(status: NodeSeen, last: NodeSeen | None) -> bool:
    """Whether a process has ended since the node's last observation.

    A process that started and ended between two observations is detected by its start time, and so is one
    that ended and was started again.  A container that was created but not started has no process: an upgrade
    replaces a node's container, and an observation may happen in between.
    """
    if last is None:
        return status.exited
    another = last.started_at != status.started_at
    if status.exited:
        return not last.exited or another
    known = last.started_at and status.started_at
    return last.alive and another and bool(known)


def _explained(
    operation: Operation, status: NodeSeen, since_ns: int, spent: Mapping[FaultWindow, set[str]]
) -> bool:
    """Whether a fault that ends the node was in force, and does not explain another end of the node.

    A kill by the kernel for lack of memory is never planned.
    """
    node, time_ns = operation.node or "", operation.time_ns
    for window, ended in spent.items():
        if window.concerns(node) and window.overlaps(since_ns, time_ns) and node not in ended:
            ended.add(node)
            return not status.oom
    return False


def _death(operation: Operation, status: NodeSeen, cause: LogLine | None) -> Anomaly:
    how = "out of memory" if status.oom else "it was not killed or stopped"
    seconds = operation.time_ns / 1e9
    code = f"with exit code {status.exit_code}" if status.exited else "and was started again"
    logged = f" It logged: {excerpt(cause)}" if cause else ""
    return NODE_DIED.found(
        f"{operation.node} ended at {seconds:.1f} s {code}: {how}.{logged}",
        subject=operation.node,
        time_ns=operation.time_ns,
        witness=(operation.index, *((cause.index,) if cause else ())),
        explanation=(cause.text[:EXCERPT_CHARACTERS],) if cause else (),
    )


def _done_ns(history: History) -> int | None:
    return phase_began_ns(history, Phase.DONE)


def _all_observed(setup: Setup | None, observed: Sequence[Decoded[NodeSeen]]) -> Assumption:
    expected = {node.name for node in setup.nodes} if setup else set()
    missing = sorted(expected - {operation.node for operation, _ in observed})
    return Assumption(
        name="nodes-observed",
        met=bool(expected) and not missing,
        expected="the state of every node of the setup observed at least once",
        observed=f"not observed: {', '.join(missing)}" if missing else f"{len(expected)} nodes observed",
    )


def _ends_observed(observed: Sequence[Decoded[NodeSeen]], windows: Iterable[FaultWindow]) -> Assumption:
    """Whether each confirmed and lasting kill and stop was observed; states are recorded only on change.

    An observer that misses the planned ends would also miss others.  An observer with pauses may miss ends
    that were followed by a start at once.
    """
    seen = [(operation.node, operation.time_ns) for operation, status in observed if status.exited]
    missed = [
        f"{window.id} of {node}"
        for window in windows
        if window.down and window.held_ns > _SEEN_WITHIN_NS
        for node in window.targets
        if not any(name == node and window.overlaps(at, at) for name, at in seen)
    ]
    return Assumption(
        name="ends-observed",
        met=not missed,
        expected="the end of every process that was killed or stopped observed",
        observed=f"not observed: {first_of(missed)}" if missed else "all observed",
    )


def _figures(lines: Sequence[LogLine]) -> dict[str, object]:
    reasons = [(line, harmless_reason(line)) for line in lines]
    return {
        "log_lines": len(lines),
        "error_lines": sum(line.level == "ERROR" and reason is None for line, reason in reasons),
        "fatal_lines": sum(line.level == "FATAL" and reason is None for line, reason in reasons),
        "harmless_lines": dict(Counter(reason for _, reason in reasons if reason is not None)),
        "nodes_with_more_lines": sorted({line.node for line in lines if line.number is None}),
    }


ENTRY = Entry(CHECKER, check_nodes, ANOMALIES, NEEDS)
