"""Periods in which a node had no running process, so that it could not answer."""

from itertools import pairwise

from checkers.history.observed import NODE, NodeSeen
from checkers.history.operations import History, once

Span = tuple[int, int]
"""From when until when, in nanoseconds of the history."""


@once
def not_running(history: History) -> dict[str, tuple[Span, ...]]:
    """Of each node that was observed, the spans in which its process had ended or was frozen, in order.

    One that does not run when it is looked at last does not run until the history ends.
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
    """Nodes whose processes did not run when they were last observed."""
    return frozenset(node for node, states in _states(history).items() if not states[-1][1])


@once
def _states(history: History) -> dict[str, list[tuple[int, bool]]]:
    """Of each node when it was looked at, and whether it ran."""
    told: dict[str, list[tuple[int, bool]]] = {}
    for operation, node in history.seen(NODE, NodeSeen):
        told.setdefault(operation.node or "", []).append((operation.time_ns, node.running))
    return told
