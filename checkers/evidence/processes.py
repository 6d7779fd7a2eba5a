"""Periods in which a node had no running process, so that it could not answer."""

from itertools import pairwise

from checkers.history.observed import NODE, NodeSeen
from checkers.history.operations import History, once

Span = tuple[int, int]
"""Start and end of a span, in nanoseconds of the history."""


@once
def not_running(history: History) -> dict[str, tuple[Span, ...]]:
    """The spans in which each observed node's process had ended or was frozen, in order.

    A process that was not running at the last observation counts as not running until the end of the history.
    """
    return {
        node: tuple(
            (from_ns, to_ns)
            for (from_ns, running), (to_ns, _) in pairwise([*states, (history.operations[-1].time_ns, True)])
            if not running
        )
        for node, states in _states(history).items()
    }


def gone(history: History) -> frozenset[str]:
    """Nodes whose processes were not running when they were last observed."""
    return frozenset(node for node, states in _states(history).items() if not states[-1][1])


@once
def _states(history: History) -> dict[str, list[tuple[int, bool]]]:
    """The times at which each node was observed, and whether it was running."""
    observed: dict[str, list[tuple[int, bool]]] = {}
    for operation, node in history.seen(NODE, NodeSeen):
        observed.setdefault(operation.node or "", []).append((operation.time_ns, node.running))
    return observed
