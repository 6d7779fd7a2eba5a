"""Voters that lost their votes with their disks, so that an epoch may legally be used again.

Two majorities of n voters share at least one voter if n is odd, and two if it is even.  An epoch has one
leader because the shared voters vote only once in it.  A voter whose disk was emptied and that still votes
(in a static quorum under any identity, in a dynamic one under its old identity) has forgotten its votes.  If
so many voters have forgotten theirs that two majorities need not share any other voter, an epoch may have two
leaders, and the next epoch may be lower than the last.  A voter that lost its votes before both elections, or
after them, explains nothing.
"""

from collections.abc import Iterable

import msgspec

from checkers.history.setup import Setup
from checkers.kraft.quorum.views import LeaderClaim, StateFile, Views
from checkers.kraft.quorum.wipes import Wipes


class Forgotten(msgspec.Struct, frozen=True):
    """One voter that lost its votes.

    Attributes:
        node: its name.
        voted_ns: time until which it may have had its votes.
        votes_ns: time from which it may vote again.
        life: number of the node's disks that were emptied by then, including this one.
    """

    node: str
    voted_ns: int
    votes_ns: int
    life: int


class Forgetting(msgspec.Struct, frozen=True):
    """All votes that were lost in one run.

    Attributes:
        wipes: the faults that emptied disks.
        names: voters by ``node.id``.
        forgotten: the voters that lost their votes, and when.
        needed: number of voters that must lose their votes before an epoch may be used again.
        files: the quorum-state files of nodes, see `Views`.
        claims: the answers of leaders.
    """

    wipes: Wipes = Wipes(())
    names: dict[int, str] = {}
    forgotten: tuple[Forgotten, ...] = ()
    needed: int = 1
    files: tuple[StateFile, ...] = ()
    claims: tuple[LeaderClaim, ...] = ()

    def between(self, after_ns: int, before_ns: int) -> str | None:
        """Why two majorities of one epoch, elected between two times, need not share a vote; or None."""
        return self._reason(f for f in self.forgotten if after_ns <= f.voted_ns and f.votes_ns <= before_ns)

    def may_lead_anew(self, claim: LeaderClaim) -> bool:
        """Whether voters that lost a later epoch may have elected a leader after that epoch had begun.

        A voter that has stored a later epoch since it lost its votes does not vote in an earlier one.
        """
        voting = (f for f in self.forgotten if f.votes_ns <= claim.time_ns)
        return self._reason(f for f in voting if not self._knows_later(f, claim)) is not None

    def elected_after_ns(self, sighting: LeaderClaim | StateFile) -> int:
        """A time after which the leader in a view was elected for that epoch; 0 if nothing shows it.

        At that time, the node itself had reported a lower epoch.  A report from the time of a later disk
        counts only if it is the node's own answer as leader with that disk.  Reports of other nodes may refer
        to its earlier disk.
        """
        name = self.names.get(sighting.leader_id)
        own = isinstance(sighting, LeaderClaim) and sighting.node == name
        life = self.wipes.life(sighting) if own else 0
        begun = (f.votes_ns for f in self.forgotten if own and f.node == name and f.life == life)
        every: list[LeaderClaim | StateFile] = [*self.files, *self.claims]
        lower = (
            view.began_ns
            for view in every
            if view.node == name
            and view.epoch < sighting.epoch
            and view.time_ns < sighting.began_ns
            and self.wipes.life(view) == life
        )
        return max([0, *begun, *lower])

    def _reason(self, forgotten: Iterable[Forgotten]) -> str | None:
        nodes = sorted({each.node for each in forgotten})
        if len(nodes) < self.needed:
            return None
        return f"the disks of {', '.join(nodes)} were lost, and with them the votes that two majorities share"

    def _knows_later(self, forgotten: Forgotten, claim: LeaderClaim) -> bool:
        return any(
            file.node == forgotten.node
            and file.epoch > claim.epoch
            and file.time_ns < claim.began_ns
            and self.wipes.life(file) == forgotten.life
            for file in self.files
        )


REMEMBERED = Forgetting()
"""No voter lost its votes."""


def forgetting_of(views: Views, wipes: Wipes, setup: Setup, dynamic_since_ns: int) -> Forgetting:
    """The voters that lost their votes, by the disk faults.

    Args:
        views: all reports of nodes.
        wipes: faults that emptied disks.
        setup: which nodes are controllers.
        dynamic_since_ns: time from which a disk with a new identity has no vote.
    """
    voter_sets = {frozenset(voter.id for voter in claim.voters) for claim in views.claims}
    ever = frozenset[int]().union(*voter_sets) or frozenset(setup.controllers)
    names = {voter: name for voter, name in setup.controllers.items() if voter in ever}
    forgotten = tuple(
        Forgotten(node, back_ns if gone_ns is None else gone_ns, back_ns, wipes.lives(node, back_ns))
        for wipe in wipes.wipes
        for gone_ns, back_ns in [(wipe.window.effective_ns, wipe.window.heal_invoked_ns)]
        for node in names.values()
        if back_ns is not None and wipe.window.concerns(node) and not wipe.mute(dynamic_since_ns)
    )
    return Forgetting(wipes, names, forgotten, _shared(voter_sets), views.files, views.claims)


def _shared(sets: set[frozenset[int]]) -> int:
    """How many voters any two majorities share; at least one for a voter set that changes."""
    if len(sets) != 1:
        return 1
    (size,) = map(len, sets)
    return max(1, 2 * (size // 2 + 1) - size)
