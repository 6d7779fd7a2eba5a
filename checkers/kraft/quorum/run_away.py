"""Epochs that keep rising because a voter without a connection to the leader raises them (KIP-996)."""

from collections.abc import Iterable, Sequence

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.history.setup import Setup
from checkers.kraft.quorum.changes import VoterChange
from checkers.kraft.quorum.views import LeaderClaim, StateFile, Views
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

EPOCH_RUN_AWAY = AnomalyKind(
    id="epoch-run-away",
    meaning="The epoch rose a lot while a minority was cut off and the leader had a majority.",
    guarantee="A voter that cannot win an election, because a majority follows a leader, does not "
    "raise the epoch.",
    source="KIP-996, Pre-Vote, since 4.0.0; before 4.0.0 only if the setup of the run lists it as a promise",
)
PRE_VOTE = "KIP-996"
PRE_VOTE_SINCE = (4, 0)
EPOCH_RISE_MAX = 3
"""Elections that a busy host may cause in one cut; without pre-vote, 10 in 10 s were observed."""
SETTLE_NS = 5_000_000_000
"""How long after a heal the epoch of the minority may still reach the majority."""


class Rise(msgspec.Struct, frozen=True):
    """The rise of the epoch during one cut that left the leader its majority, without other faults.

    Attributes:
        window: the cut.
        before: the leader's last answer before the cut.
        highest: the view with the highest epoch until the epoch had settled.
    """

    window: FaultWindow
    before: LeaderClaim
    highest: LeaderClaim | StateFile

    @property
    def epochs(self) -> int:
        """The number of epochs by which it rose."""
        return self.highest.epoch - self.before.epoch


def rises(
    views: Views,
    leading: Sequence[LeaderClaim],
    windows: Sequence[FaultWindow],
    changes: Sequence[VoterChange],
    setup: Setup,
) -> list[Rise]:
    """The rise during every cut without other faults, until it had settled or the next fault began.

    Args:
        views: all reports of nodes.
        leading: the answers of leaders that were up to date.
        windows: the run's faults.
        changes: requests to change the voters, which may also change the leader.
        setup: names of nodes.
    """
    going_on = [(window.invoked_ns, window.end_ns) for window in windows]
    going_on += [(change.invoked_ns, change.completed_ns) for change in changes]
    found = []
    for window in windows:
        if window.kind != "partition" or not window.proven or window.healed_ns is None:
            continue
        during = [
            began for began, ended in going_on if began <= window.healed_ns and ended >= window.invoked_ns
        ]
        later = [began for began, _ in going_on if began > window.healed_ns]
        earlier = [claim for claim in leading if claim.time_ns <= window.invoked_ns]
        before = max(earlier, key=lambda claim: (claim.time_ns, claim.index), default=None)
        if len(during) == 1 and before is not None and _minority_cut(before, window, setup):
            until_ns = min([window.healed_ns + SETTLE_NS, *later])
            found.append(Rise(window, before, _highest(views, window.invoked_ns, until_ns) or before))
    return found


def _minority_cut(claim: LeaderClaim, window: FaultWindow, setup: Setup) -> bool:
    """Whether some voters were cut off from the leader, and the others form a majority with it."""
    names = {node.id: node.name for node in setup.nodes}
    cut = {node for pair in window.cut if claim.node in pair for node in pair} - {claim.node}
    voters = [names.get(voter.id) for voter in claim.voters]
    away = sum(name in cut for name in voters)
    return away > 0 and 2 * (len(voters) - away) > len(voters)


def _highest(views: Views, start_ns: int, end_ns: int) -> LeaderClaim | StateFile | None:
    """The first view with the highest epoch."""
    every: Iterable[LeaderClaim | StateFile] = (*views.claims, *views.files)
    within = (view for view in every if view.began_ns >= start_ns and view.time_ns <= end_ns)
    return max(within, key=lambda view: (view.epoch, -view.time_ns, -view.index), default=None)


def run_aways(found: Iterable[Rise], setup: Setup) -> list[Anomaly]:
    """One finding for every rise above the bound.

    It is legal if neither the version nor the run promises pre-vote.
    """
    promised = setup.oldest_version >= PRE_VOTE_SINCE or PRE_VOTE in setup.promises
    anomalies = [_run_away(rise) for rise in found if rise.epochs > EPOCH_RISE_MAX]
    if promised:
        return anomalies
    licence = "Kafka before 4.0.0 has no pre-vote"
    return [msgspec.structs.replace(each, illegal=False, licence=licence) for each in anomalies]


def _run_away(rise: Rise) -> Anomaly:
    window, before, highest = rise.window, rise.before, rise.highest
    seconds = (window.end_ns - window.invoked_ns) / 1e9
    return EPOCH_RUN_AWAY.found(
        f"The epoch rose by {rise.epochs}, from {before.epoch} to {highest.epoch}, during the cut "
        f"{window.id} of {seconds:.1f} s; {EPOCH_RISE_MAX} are allowed.",
        subject=window.id,
        time_ns=highest.time_ns,
        witness=(before.index, *window.operations, highest.index),
        explanation=(
            f"{before.node} led epoch {before.epoch} and kept a majority of {len(before.voters)} voters.",
            f"At {highest.time_ns / 1e9:.3f} s {highest.node} had epoch {highest.epoch}.",
        ),
    )
