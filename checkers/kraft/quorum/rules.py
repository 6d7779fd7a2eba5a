"""Raft's guarantees about epochs, votes and high watermarks, checked on the observed quorum."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from typing import TypeVar

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.kraft.quorum.lost_votes import Forgetting
from checkers.kraft.quorum.views import NONE, LeaderClaim, StateFile, Views, best_before
from checkers.kraft.quorum.wipes import Wipes
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

TWO_LEADERS = AnomalyKind(
    id="two-leaders",
    meaning="Two nodes led the metadata quorum in the same epoch.",
    guarantee="An epoch of the metadata quorum has at most one leader, as long as its voters keep "
    "their disks.",
    source="KIP-595, Leader election; Raft (Ongaro and Ousterhout 2014), Election Safety",
)
EPOCH_REGRESSION = AnomalyKind(
    id="epoch-regression",
    meaning="The epoch in a node's quorum-state file went back, on the same disk.",
    guarantee="A voter persists the highest epoch it has seen and never goes back to a lower one.",
    source="KIP-595, Quorum State",
)
DOUBLE_VOTE = AnomalyKind(
    id="double-vote",
    meaning="A node voted for two candidates in the same epoch, on the same disk.",
    guarantee="A voter grants at most one vote in an epoch, and remembers it over restarts.",
    source="KIP-595, Vote; Raft (Ongaro and Ousterhout 2014), §5.2",
)
HW_REGRESSION = AnomalyKind(
    id="hw-regression",
    meaning="A leader's high watermark went back within its epoch, without a restart.",
    guarantee="The high watermark of a leader never decreases within its epoch.",
    source="KIP-595; Kafka's LeaderState.maybeUpdateHighWatermark",
)

View = LeaderClaim | StateFile
V = TypeVar("V", LeaderClaim, StateFile, View)


def two_leaders(views: Views, forgetting: Forgetting) -> list[Anomaly]:
    """One finding for every epoch with two leaders, by the answers and files of all nodes.

    Two leaders are legal if, between the elections of any two of them, all voters that both majorities share
    lost their votes.
    """
    found = []
    for epoch, sightings in _grouped(views.sightings, lambda view: view.epoch).items():
        leaders = _first_of_each(sightings, lambda view: view.leader_id)
        if len(leaders) > 1:
            names = ", ".join(str(view.leader_id) for view in leaders)
            anomaly = TWO_LEADERS.found(
                f"Epoch {epoch} had the leaders {names}.",
                subject=f"epoch {epoch}",
                time_ns=leaders[1].time_ns,
                witness=(view.index for view in leaders),
                explanation=(_view_text(view, f"names {view.leader_id} as its leader") for view in leaders),
            )
            licence = _used_again(leaders, sightings, forgetting)
            found.append(msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence))
    return found


def _used_again(leaders: Sequence[View], sightings: Sequence[View], forgetting: Forgetting) -> str | None:
    """Why an epoch may legally have had all of these leaders; None if it may not.

    Args:
        leaders: the first view of each leader.
        sightings: all views of that epoch.
        forgetting: the voters that lost their votes.
    """
    if not forgetting.forgotten:
        return None
    since_ns = {
        leader: min(map(forgetting.elected_after_ns, views))
        for leader, views in _grouped(sightings, lambda view: view.leader_id).items()
    }
    licences = [
        forgetting.between(min(since_ns[a.leader_id], since_ns[b.leader_id]), max(a.time_ns, b.time_ns))
        for a, b in combinations(leaders, 2)
    ]
    return None if None in licences else licences[0]


def double_votes(files: Sequence[StateFile], wipes: Wipes) -> list[Anomaly]:
    """One finding for every disk (between two wipes) and epoch with votes for two candidates."""
    votes = [file for file in wipes.certain(files) if file.voted_id > NONE]
    found = []
    disks = _grouped(votes, lambda f: (f.node, f.directory_id, wipes.life(f), f.epoch))
    for (node, _, _, epoch), cast in disks.items():
        candidates = _first_of_each(cast, lambda file: file.voted_id)
        if len(candidates) > 1:
            names = " and ".join(str(file.voted_id) for file in candidates)
            found.append(
                DOUBLE_VOTE.found(
                    f"{node} voted for {names} in epoch {epoch}.",
                    subject=f"{node}, epoch {epoch}",
                    time_ns=candidates[1].time_ns,
                    witness=(file.index for file in candidates),
                    explanation=(_view_text(file, f"has a vote for {file.voted_id}") for file in candidates),
                )
            )
    return found


def epoch_regressions(files: Sequence[StateFile], wipes: Wipes) -> list[Anomaly]:
    """The first reading of every disk whose epoch is below one that had been read before it began.

    After a wipe a disk counts as another one, even if it has the old identity.
    """
    found = []
    disks = _grouped(wipes.certain(files), lambda f: (f.node, f.directory_id, wipes.life(f)))
    for (node, _, _), readings in disks.items():
        pair = _first_fall(readings, lambda file: file.epoch)
        if pair is not None:
            higher, lower = pair
            found.append(
                EPOCH_REGRESSION.found(
                    f"The quorum-state of {node} went back from epoch {higher.epoch} to {lower.epoch}.",
                    subject=node,
                    time_ns=lower.time_ns,
                    witness=(higher.index, lower.index),
                    explanation=(_view_text(view, f"has epoch {view.epoch}") for view in pair),
                )
            )
    return found


def hw_regressions(claims: Sequence[LeaderClaim], windows: Iterable[FaultWindow]) -> list[Anomaly]:
    """The first answer with a lower high watermark, for every leader, epoch and life of its process.

    A life ends at each kill or stop.  Answers during a kill or stop belong to no life for certain and are
    left out, as are answers without a high watermark.
    """
    down = [window for window in windows if window.ends_processes]
    alive = [c for c in claims if c.high_watermark > NONE and not _in_any(down, c)]
    found = []
    for (node, epoch, _), answers in _grouped(alive, lambda c: (c.node, c.epoch, _life(down, c))).items():
        pair = _first_fall(answers, lambda claim: claim.high_watermark)
        if pair is not None:
            higher, lower = pair
            found.append(
                HW_REGRESSION.found(
                    f"{node} reported high watermark {lower.high_watermark} in epoch {epoch} after "
                    f"{higher.high_watermark}.",
                    subject=f"{node}, epoch {epoch}",
                    time_ns=lower.time_ns,
                    witness=(higher.index, lower.index),
                    explanation=(_view_text(c, f"has high watermark {c.high_watermark}") for c in pair),
                )
            )
    return found


def _in_any(windows: Iterable[FaultWindow], claim: LeaderClaim) -> bool:
    return any(w.concerns(claim.node) and w.overlaps(claim.began_ns, claim.time_ns) for w in windows)


def _life(windows: Iterable[FaultWindow], claim: LeaderClaim) -> int:
    return sum(w.concerns(claim.node) and w.end_ns < claim.began_ns for w in windows)


def _first_fall(views: Sequence[V], height: Callable[[V], int]) -> tuple[V, V] | None:
    """The first view that is lower than a view that was complete before it began, preceded by that view."""
    for view, best in best_before(views, views, height):
        if best is not None and height(best) > height(view):
            return best, view
    return None


K = TypeVar("K", bound=Hashable)


def _grouped(views: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = {}
    for view in views:
        groups.setdefault(key(view), []).append(view)
    return groups


def _first_of_each(views: Iterable[V], key: Callable[[V], int]) -> list[V]:
    """The earliest view for every key, in order of time."""
    earliest: dict[int, V] = {}
    for view in sorted(views, key=lambda view: (view.time_ns, key(view), view.index)):
        earliest.setdefault(key(view), view)
    return list(earliest.values())


def _view_text(view: View, what: str) -> str:
    source = "the answer" if isinstance(view, LeaderClaim) else "the quorum-state file"
    return f"At {view.time_ns / 1e9:.3f} s {source} of {view.node} {what} (epoch {view.epoch})."
