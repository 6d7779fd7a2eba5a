"""The quorum checker: one leader an epoch, leaders that resign in time, epochs, votes and high watermarks.

It works on views, which are intervals (see `checkers.quorum_views`), and never assumes an order between two
that overlap.
"""

from collections.abc import Collection

from checkers.faults import fault_windows
from checkers.history import History
from checkers.kinds import by_id
from checkers.quorum_rules import (
    DOUBLE_VOTE,
    EPOCH_REGRESSION,
    HW_REGRESSION,
    TWO_LEADERS,
    double_votes,
    epoch_regressions,
    hw_regressions,
    two_leaders,
)
from checkers.quorum_views import NONE, LeaderClaim, StateFile, Views, views_of
from checkers.quorum_watch import watched
from checkers.quorum_zombie import (
    NS_PER_MS,
    ZOMBIE_LEADER,
    StaleRun,
    span_bound_ms,
    stale_claims,
    stale_runs,
    zombies,
)
from checkers.setup import setup_of
from checkers.verdict import Assumption, CheckerResult, result_of

CHECKER = "quorum"
ANOMALIES = by_id(TWO_LEADERS, ZOMBIE_LEADER, EPOCH_REGRESSION, DOUBLE_VOTE, HW_REGRESSION)


def check_quorum(history: History) -> CheckerResult:
    """Judge the metadata quorum by what its nodes answered and wrote down.

    Unknown without a setup, and unless at least one node answered as leader and at least one quorum-state
    file was read: otherwise nothing was tested.  Unknown also where a controller was silent for so long that
    a zombie could have gone unseen, or did not come back.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    views = views_of(history)
    windows = fault_windows(history)
    found = [
        *two_leaders(views),
        *double_votes(views.files),
        *epoch_regressions(views.files),
        *hw_regressions(views.claims, windows),
    ]
    setup = setup_of(history)
    if setup is None:
        return result_of(CHECKER, found, unknown_because="the history has no setup, so no bound is known")
    stale = stale_claims(views, setup.controller_fetch_timeout_ms)
    runs = stale_runs(views.claims, stale, windows)
    bound_ms = span_bound_ms(setup.controller_fetch_timeout_ms, setup.observe_interval_ms)
    return result_of(
        CHECKER,
        found + zombies(runs, bound_ms),
        assumptions=_assumptions(views) + watched(history, setup, windows, bound_ms),
        figures=_figures(views, stale, runs) | {"zombie_span_bound_ms": bound_ms},
    )


def _assumptions(views: Views) -> tuple[Assumption, ...]:
    return (
        _seen("leader-views", len(views.claims), "answers of a node as leader of the quorum"),
        _seen("quorum-state-views", len(views.files), "readings of quorum-state files"),
    )


def _seen(name: str, count: int, what: str) -> Assumption:
    return Assumption(name=name, met=count > 0, expected=f"at least 1 of: {what}", observed=str(count))


def _figures(views: Views, stale: Collection[int], runs: list[StaleRun]) -> dict[str, int]:
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


def _leaderless_ns(views: Views, stale: Collection[int]) -> int:
    """The longest time between the first and the last view without an answer of a leader up to date."""
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
