"""Wiped disks of controllers: votes are lost, and possibly committed records."""

from collections.abc import Iterable

import msgspec

from checkers.evidence.faults import FaultWindow, recorded_faults
from checkers.history.faults import DiskProbed
from checkers.history.operations import History
from checkers.history.replicas import METADATA_TOPIC
from checkers.history.setup import Setup
from checkers.history.units import NS_PER_MS
from checkers.kraft.quorum.views import NONE, LeaderClaim, StateFile
from checkers.licences.disks import hits


class Wipe(msgspec.Struct, frozen=True):
    """A fault that removed metadata logs.

    Attributes:
        window: the fault.
        new_identity: whether the disk certainly came back with another directory id.
    """

    window: FaultWindow
    new_identity: bool

    def mute(self, dynamic_since_ns: int) -> bool:
        """Whether the new disk has no vote: in a dynamic quorum, another directory id is another voter."""
        return self.new_identity and self.window.invoked_ns >= dynamic_since_ns

    def straddled_by(self, file: StateFile) -> bool:
        """Whether a reading took so long that it may show the disk before the wipe, or the one after it."""
        gone_ns, back_ns = self.window.effective_ns, self.window.heal_invoked_ns
        if back_ns is None or not self.window.concerns(file.node):
            return False
        return file.began_ns <= (back_ns if gone_ns is None else gone_ns) and back_ns <= file.time_ns


class Wipes(msgspec.Struct, frozen=True):
    """All wipes, in the order of their injections."""

    wipes: tuple[Wipe, ...]

    def life(self, view: LeaderClaim | StateFile) -> int:
        """The number of wipes of the node's disk before a report, see `lives`."""
        return self.lives(view.node, view.time_ns)

    def lives(self, node: str, time_ns: int) -> int:
        """The number of wipes of a node's disk before a time.

        New content is written once the heal has started.  Until then, a reading shows the old content, if
        any.
        """
        begun = (wipe.window.heal_invoked_ns for wipe in self.wipes if wipe.window.concerns(node))
        return sum(at is not None and at <= time_ns for at in begun)

    def certain(self, files: Iterable[StateFile]) -> list[StateFile]:
        """The readings that certainly show one particular disk of the node."""
        return [file for file in files if not any(wipe.straddled_by(file) for wipe in self.wipes)]

    def licence(
        self,
        claim: LeaderClaim,
        claims: Iterable[LeaderClaim],
        setup: Setup,
        dynamic_since_ns: int,
        until_ns: int = 0,
    ) -> str | None:
        """Why committed records may be lost when a leader answers; None if no disk explains it.

        Records that are not lost yet may have been committed later, in an epoch that was used again until
        `until_ns`.

        A disk that returns with its old directory id, or with any directory id in a static quorum, votes with
        an empty log.  So one such disk can break a majority.  A disk with a new identity has no vote.  A disk
        that has all committed records again explains nothing.
        """
        gone: set[str] = set()
        votes = False
        for wipe in self.wipes:
            empty = {
                node
                for voter, node in setup.controllers.items()
                if wipe.window.concerns(node)
                and wipe.window.invoked_ns <= max(claim.time_ns, until_ns)
                and not filled(voter, wipe.window, claims, claim.began_ns)
            }
            gone |= empty
            votes = votes or (bool(empty) and not wipe.mute(dynamic_since_ns))
        if gone and (votes or 2 * len(gone) > len(claim.voters)):
            return f"the disks of {', '.join(sorted(gone))} had been wiped"
        return None


def filled(voter: int, window: FaultWindow, claims: Iterable[LeaderClaim], before_ns: int) -> bool:
    """Whether a leader reported, between a wipe and a time, that a node has all committed records."""
    committed = NONE
    for claim in sorted(claims, key=lambda each: (each.time_ns, each.index)):
        committed = max(committed, claim.high_watermark)
        later = window.end_ns <= claim.began_ns and claim.time_ns < before_ns
        if later and 0 < committed <= _end_of(voter, claim, window):
            return True
    return False


def _end_of(voter: int, claim: LeaderClaim, window: FaultWindow) -> int:
    """End of a node's log, if it leads or has fetched since a fault.

    A leader also remembers older ends.
    """
    if claim.leader_id == voter:
        return claim.end_offset
    healed_ms = claim.wall_ms - (claim.time_ns - window.end_ns) // NS_PER_MS
    ends = (
        each.log_end_offset
        for each in (*claim.voters, *claim.observers)
        if each.id == voter and each.last_fetch_ms >= healed_ms
    )
    return max(ends, default=NONE)


def wipes_of(history: History, windows: Iterable[FaultWindow]) -> Wipes:
    """The wipes that may have removed a metadata log."""
    return Wipes(
        tuple(
            Wipe(window, any(_differ(fault.of_disk) for fault in recorded_faults(history, window)))
            for window in windows
            if window.wipes and hits(history, window, METADATA_TOPIC)
        )
    )


def _differ(probe: DiskProbed) -> bool:
    before, after = probe.directory_id_before, probe.directory_id_after
    return bool(before and after and before != after)
