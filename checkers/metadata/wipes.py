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
from checkers.quorum.changes import dynamic_since_ns
from checkers.quorum.views import views_of
from checkers.quorum.wipes import filled, wipes_of
from checkers.setup import setup_of
from checkers.verdict import Anomaly

_LOSSES = frozenset(
    {"lost-topic", "resurrected-topic", "changed-topic-id", "topic-created-twice", "returned-topic-id"}
)


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


def emptied(history: History, before_ns: int) -> str | None:
    """Why what was committed at a time may be gone from the log; None if no wiped disk explains it.

    One disk is enough that votes with an empty log, be it wiped before and not filled until then, or later.
    Of disks with a new identity, which have no vote, a majority must be gone.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    setup = setup_of(history)
    wipes = wipes_of(history, fault_windows(history)).wipes
    if setup is None or not wipes:
        return None
    claims, dynamic_ns = views_of(history).claims, dynamic_since_ns(history, setup.features)
    empty = [
        (name, wipe.mute(dynamic_ns))
        for wipe in wipes
        for voter, name in setup.controllers.items()
        if wipe.window.concerns(name) and not filled(voter, wipe.window, claims, before_ns)
    ]
    names = sorted({name for name, _ in empty})
    if not names or (all(mute for _, mute in empty) and 2 * len(names) <= len(setup.controllers)):
        return None
    return f"the disks of {', '.join(names)} had been wiped"


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
