"""Wiped disks of controllers: the times when a majority of the voters had lost their logs.

A controller whose disk was wiped counts as wiped until the quorum's leader reports that its log reaches the
committed end.  In a static quorum it continues to vote with an empty log.  In a dynamic quorum it also
continues to vote if its disk keeps its directory id; with another id it has no vote (KIP-853, Motivation).
While a majority of the voters is wiped, they may elect one of themselves, or no voter may have the committed
records.  In these cases no quorum guarantees to keep the records.
"""

from collections.abc import Iterable

import msgspec

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History
from checkers.history.setup import setup_of
from checkers.kraft.quorum.changes import dynamic_since_ns
from checkers.kraft.quorum.views import LeaderClaim, views_of
from checkers.kraft.quorum.wipes import filled, wipes_of
from checkers.verdict.verdict import Anomaly

_LOSSES = frozenset(
    {"lost-topic", "resurrected-topic", "changed-topic-id", "topic-created-twice", "returned-topic-id"}
)


def licensed(anomalies: Iterable[Anomaly], history: History) -> list[Anomaly]:
    """Mark losses of metadata as legal if the disks of a majority of the voters had been wiped before.

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
    """Why records that were committed at a time may be lost; None if no wiped disk explains it.

    One disk that votes with an empty log is enough.  It was either wiped before and not filled by that time,
    or wiped later.  Disks with a new identity have no vote, so a majority of them must be wiped.

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
    """The time since which a majority was wiped, and a text about it; None if it never was."""
    wipes = [wipe.window for wipe in wipes_of(history, fault_windows(history)).wipes]
    setup = setup_of(history) if wipes else None
    controllers = {} if setup is None else setup.controllers
    claims = views_of(history).claims
    for window in wipes:
        voters = _voters(claims, window.invoked_ns) or frozenset(controllers)
        empty = {
            name
            for earlier in wipes
            if earlier.invoked_ns <= window.invoked_ns
            for voter, name in controllers.items()
            if voter in voters and earlier.concerns(name)
            if not filled(voter, earlier, claims, window.invoked_ns)
        }
        if 2 * len(empty) > len(voters):
            names = ", ".join(sorted(empty))
            return window.invoked_ns, f"wiped disks: {names}, a majority of the voters, had empty logs"
    return None


def _voters(claims: Iterable[LeaderClaim], until_ns: int) -> frozenset[int]:
    """The voters that the newest leader had reported by a time; none if none had been reported."""
    earlier = (claim for claim in claims if claim.time_ns <= until_ns)
    last = max(earlier, key=lambda claim: (claim.epoch, claim.time_ns), default=None)
    return frozenset() if last is None else frozenset(voter.id for voter in last.voters)
