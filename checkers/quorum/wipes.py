"""Disks of controllers that were wiped: what a node promised is forgotten, and perhaps what was committed."""

from collections.abc import Iterable
from typing import Any

import msgspec

from checkers.faults import FaultWindow
from checkers.history import History
from checkers.quorum.views import LeaderClaim, StateFile
from checkers.replicas.observed import METADATA_TOPIC
from checkers.setup import Setup

WIPE = "wipe-disk"


class Wipe(msgspec.Struct, frozen=True):
    """A fault that removed metadata logs.

    Attributes:
        window: the fault.
        new_identity: whether the disk certainly came back with another directory id.
    """

    window: FaultWindow
    new_identity: bool


class Wipes(msgspec.Struct, frozen=True):
    """All of them, in the order of injection."""

    wipes: tuple[Wipe, ...]

    def life(self, file: StateFile) -> int:
        """How many wipes of the node's disk came before the content of that file.

        New content is written once the heal has begun; until then what is read, if anything, is the old one.
        """
        begun = (w.window.heal_invoked_ns for w in self.wipes if w.window.concerns(file.node))
        return sum(at is not None and at <= file.time_ns for at in begun)

    def licence(self, claim: LeaderClaim, setup: Setup, dynamic_since_ns: int) -> str | None:
        """Why what was committed may be gone when a leader answers; None if no disk explains it.

        A disk that comes back under its old identity, or under any in a static quorum, votes with an empty
        log, so that one of them can undo a majority.  One with a new identity has no vote.
        """
        names = set(setup.controllers.values())
        before = [wipe for wipe in self.wipes if wipe.window.invoked_ns <= claim.time_ns]
        gone = {node for wipe in before for node in (set(wipe.window.targets) or names)} & names
        votes = any(not wipe.new_identity or wipe.window.invoked_ns < dynamic_since_ns for wipe in before)
        if gone and (votes or 2 * len(gone) > len(claim.voters)):
            return f"the disks of {', '.join(sorted(gone))} had been wiped"
        return None


def wipes_of(history: History, windows: Iterable[FaultWindow]) -> Wipes:
    """The wipes that may have removed a metadata log; one of another topic's folders does not."""
    found = []
    for window in windows:
        values = [history.operations[index].value or {} for index in window.operations]
        topic = (values[0].get("spec") or {}).get("topic")
        if window.kind == WIPE and topic in (None, METADATA_TOPIC):
            found.append(Wipe(window, any(_differ(value.get("probe") or {}) for value in values)))
    return Wipes(tuple(found))


def _differ(probe: dict[str, Any]) -> bool:
    before, after = probe.get("directory_id_before"), probe.get("directory_id_after")
    return bool(before and after and before != after)
