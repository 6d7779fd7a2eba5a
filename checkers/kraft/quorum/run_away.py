"""Epochs that keep rising because a voter without a connection to the leader raises them (KIP-996)."""

from collections.abc import Iterable, Sequence

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.evidence.kafka_versions import KafkaVersions
from checkers.history.setup import Setup
from checkers.kraft.quorum.changes import VoterChange
from checkers.kraft.quorum.views import LeaderClaim, StateFile, Views
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

EPOCH_RUN_AWAY = AnomalyKind(
    id="epoch-run-away",
    meaning="The epoch rose by more than three while a minority was cut off and the leader had a majority.",
    guarantee="A voter that cannot win an election, because a majority follows a leader, does not "
    "raise the epoch.",
    source="KIP-996, Pre-Vote, since 4.0.0; before 4.0.0 only if the setup of the run lists it as a promise",
)
PRE_VOTE = "KIP-996"
PRE_VOTE_SINCE = (4, 0)
EPOCH_RISE_MAX = 3
"""Elections that a busy host may cause in one cut; without pre-vote, 10 in 10 s were observed."""
UPGRADED_NS = 10_000_000_000
"""How long after its upgrade the other controllers may still act on what a controller without pre-vote sent.

A candidate waits for answers for 1 s (``controller.quorum.election.timeout.ms``), and for a leader for 2 s
(``controller.quorum.fetch.timeout.ms``); the rest is a margin.
"""
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


def run_aways(found: Iterable[Rise], versions: KafkaVersions) -> list[Anomaly]:
    """One finding for every rise above the bound.

    It is legal if neither the run nor the versions of all controllers at that time promise pre-vote.
    """
    anomalies = []
    for rise in found:
        if rise.epochs > EPOCH_RISE_MAX:
            times_ns = rise.window.invoked_ns, rise.highest.time_ns
            promised = PRE_VOTE in versions.setup.promises or all_ask_first(versions, *times_ns)
            anomalies.append(_run_away(rise, None if promised else "Kafka before 4.0.0 has no pre-vote"))
    return anomalies


def all_ask_first(versions: KafkaVersions, from_ns: int, to_ns: int) -> bool:
    """Whether all controllers had a version with pre-vote between two times, and a while before."""
    oldest = versions.oldest(from_ns - UPGRADED_NS, to_ns, versions.setup.controllers.values())
    return oldest >= PRE_VOTE_SINCE


def _run_away(rise: Rise, licence: str | None) -> Anomaly:
    window, before, highest = rise.window, rise.before, rise.highest
    seconds = (window.end_ns - window.invoked_ns) / 1e9
    found = EPOCH_RUN_AWAY.found(
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
    return msgspec.structs.replace(found, illegal=licence is None, licence=licence)
