"""Figures of the quorum: numbers of observations, and changes of epochs, leaders and voters."""

from collections.abc import Collection, Iterable, Sequence

from checkers.history.units import NS_PER_MS
from checkers.kraft.quorum.changes import ADD, REMOVE, VoterChange, by_outcome
from checkers.kraft.quorum.run_away import Rise
from checkers.kraft.quorum.views import NONE, LeaderClaim, StateFile, Views
from checkers.kraft.quorum.voter_sets import VoterSet, count_sets
from checkers.kraft.quorum.zombie import StaleRun


def of_views(views: Views, stale: Collection[int], runs: Iterable[StaleRun]) -> dict[str, object]:
    """Epochs, leaders, and the longest times without a leader or with an outdated one."""
    elected = {view.epoch for view in views.sightings}
    epochs = elected | {file.epoch for file in views.files}
    return {
        "views": len(views.claims) + len(views.files),
        "epochs_seen": len(epochs),
        "epoch_max": max(epochs, default=NONE),
        "leader_changes": max(0, len(elected) - 1),
        "leaderless_ms_max": _leaderless_ns(views, stale) // NS_PER_MS,
        "zombie_span_ms_max": max((run.span_ns for run in runs), default=0) // NS_PER_MS,
    }


def of_voters(
    reported: Sequence[VoterSet],
    logged: Sequence[VoterSet],
    changes: Sequence[VoterChange],
    doubtful: dict[str, int],
    rises: Sequence[Rise],
) -> dict[str, object]:
    """Voter sets, requests to change them by outcome, and the highest rise of the epoch during a cut."""
    sizes = [len(each.members) for each in (*reported, *logged)]
    return {
        "voter_sets": count_sets(logged or reported),
        "voters_min": min(sizes, default=0),
        "voters_max": max(sizes, default=0),
        "voter_adds": by_outcome(changes, ADD),
        "voter_removes": by_outcome(changes, REMOVE),
        "voter_changes_resolved": doubtful,
        "cuts_judged": len(rises),
        "epoch_rise_max": max((rise.epochs for rise in rises), default=0),
    }


def _leaderless_ns(views: Views, stale: Collection[int]) -> int:
    """The longest time, between the first and the last view, without an answer of an up-to-date leader."""
    every: list[LeaderClaim | StateFile] = [*views.claims, *views.files]
    if not every:
        return 0
    leading = [claim for claim in views.claims if claim.index not in stale]
    seen_ns = min(view.began_ns for view in every)
    longest = 0
    for claim in sorted(leading, key=lambda claim: claim.began_ns):
        longest = max(longest, claim.began_ns - seen_ns)
        seen_ns = max(seen_ns, claim.time_ns)
    return max(longest, max(view.time_ns for view in every) - seen_ns)
