"""Disks of controllers that were wiped: what a node promised is forgotten, and perhaps what was committed."""

from collections.abc import Iterable
from typing import Any

import msgspec

from checkers.faults import FaultWindow
from checkers.history import History
from checkers.licences.disks import WIPE, hits
from checkers.quorum.views import NONE, LeaderClaim, StateFile
from checkers.replicas.observed import METADATA_TOPIC
from checkers.setup import Setup

NS_PER_MS = 1_000_000


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

    def licence(
        self, claim: LeaderClaim, claims: Iterable[LeaderClaim], setup: Setup, dynamic_since_ns: int
    ) -> str | None:
        """Why what was committed may be gone when a leader answers; None if no disk explains it.

        A disk that comes back under its old identity, or under any in a static quorum, votes with an empty
        log, so that one of them can undo a majority.  One with a new identity has no vote.  A disk that has
        all that is committed again explains nothing any more.
        """
        gone: set[str] = set()
        votes = False
        for wipe in self.wipes:
            empty = {
                node
                for voter, node in setup.controllers.items()
                if wipe.window.concerns(node)
                and wipe.window.invoked_ns <= claim.time_ns
                and not filled(voter, wipe.window, claims, claim.began_ns)
            }
            gone |= empty
            mute = wipe.new_identity and wipe.window.invoked_ns >= dynamic_since_ns
            votes = votes or (bool(empty) and not mute)
        if gone and (votes or 2 * len(gone) > len(claim.voters)):
            return f"the disks of {', '.join(sorted(gone))} had been wiped"
        return None


def filled(voter: int, window: FaultWindow, claims: Iterable[LeaderClaim], before_ns: int) -> bool:
    """Whether a leader told, between a wipe and a time, that a node has all that was told to be committed."""
    committed = NONE
    for claim in sorted(claims, key=lambda each: (each.time_ns, each.index)):
        committed = max(committed, claim.high_watermark)
        later = window.end_ns <= claim.began_ns and claim.time_ns < before_ns
        if later and 0 < committed <= _end_of(voter, claim, window):
            return True
    return False


def _end_of(voter: int, claim: LeaderClaim, window: FaultWindow) -> int:
    """End of a node's log, if it leads or has fetched since a fault; the leader remembers old ends, too."""
    if claim.leader_id == voter:
        return claim.leader_end
    healed_ms = claim.wall_ms - (claim.time_ns - window.end_ns) // NS_PER_MS
    told = (
        each.log_end_offset
        for each in (*claim.voters, *claim.observers)
        if each.id == voter and each.last_fetch_ms >= healed_ms
    )
    return max(told, default=NONE)


def wipes_of(history: History, windows: Iterable[FaultWindow]) -> Wipes:
    """The wipes that may have removed a metadata log."""
    found = []
    for window in windows:
        if window.kind == WIPE and hits(history, window, METADATA_TOPIC):
            values = [history.operations[index].value or {} for index in window.operations]
            found.append(Wipe(window, any(_differ(value.get("probe") or {}) for value in values)))
    return Wipes(tuple(found))


def _differ(probe: dict[str, Any]) -> bool:
    before, after = probe.get("directory_id_before"), probe.get("directory_id_after")
    return bool(before and after and before != after)
