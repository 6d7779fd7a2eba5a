"""Disks of controllers that were wiped: when a majority of them had nothing left to elect by.

In a static quorum a controller whose disk was wiped votes on with an empty log.  It counts as wiped until
the quorum's leader tells that its log reaches what is committed.  While a majority of the voters is wiped
they may elect one of them, and committed metadata is gone (kraft.version 0; KIP-853, Motivation).
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from checkers.faults import fault_windows
from checkers.history import History
from checkers.quorum.views import views_of
from checkers.quorum.wipes import filled, wipes_of
from checkers.verdict import Anomaly

_LOSSES = frozenset({"lost-topic", "resurrected-topic", "changed-topic-id"})


class _Node(msgspec.Struct, frozen=True):
    name: str
    id: int
    roles: tuple[str, ...] = ()


class _Setup(msgspec.Struct, frozen=True):
    quorum: str = "dynamic"
    nodes: tuple[_Node, ...] = ()


def licensed(anomalies: Iterable[Anomaly], history: History) -> list[Anomaly]:
    """Make losses of metadata legal where a majority of a static quorum's disks was wiped before.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    found = list(anomalies)
    if not any(anomaly.id in _LOSSES for anomaly in found):
        return found
    wiped = _majority_wiped(history)
    if wiped is None:
        return found
    since_ns, licence = wiped
    return [
        msgspec.structs.replace(anomaly, illegal=False, licence=licence)
        if anomaly.id in _LOSSES and (anomaly.time_ns or 0) >= since_ns
        else anomaly
        for anomaly in found
    ]


def _majority_wiped(history: History) -> tuple[int, str] | None:
    """Since when a majority was wiped, and that in words; None where it never was."""
    told: Any = next((o.value for o in history.of("setup")), {})
    setup = msgspec.convert(told, _Setup)
    controllers = {node.name: node.id for node in setup.nodes if "controller" in node.roles}
    if setup.quorum != "static":
        return None
    claims = views_of(history).claims
    wipes = [wipe.window for wipe in wipes_of(history, fault_windows(history)).wipes]
    for window in wipes:
        empty = {
            name
            for earlier in wipes
            if earlier.invoked_ns <= window.invoked_ns
            for name in controllers.keys() & set(earlier.targets)
            if not filled(controllers[name], earlier, claims, window.invoked_ns)
        }
        if 2 * len(empty) > len(controllers):
            names = ", ".join(sorted(empty))
            return window.invoked_ns, f"wiped disks: {names}, a majority of a static quorum, had empty logs"
    return None
