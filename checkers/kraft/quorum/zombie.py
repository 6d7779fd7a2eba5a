"""Zombie leaders: nodes that still answer as leader after they have lost their quorum."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.history.units import NS_PER_MS
from checkers.kraft.quorum.departing import departed_claims
from checkers.kraft.quorum.lost_votes import REMEMBERED, Forgetting
from checkers.kraft.quorum.removed_voters import Removal
from checkers.kraft.quorum.views import NONE, LeaderClaim, StateFile, Views, best_before
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

STEP_DOWN_FACTOR = 1.5
"""Kafka's CHECK_QUORUM_TIMEOUT_FACTOR: fetch timeouts without a majority until a leader resigns."""
SLACK_MS = 1_500
"""Added to the bound for a busy host: on 3.7.1, a leader stepped down as late as 4.3 s after a cut."""

ZOMBIE_LEADER = AnomalyKind(
    id="zombie-leader",
    meaning="A node answered as leader long after it had lost its majority, its epoch or its vote.",
    guarantee="A leader resigns once its removal is committed, or when no majority fetches from it "
    "within the timeout.",
    source="KIP-595, Leader Progress Timeout (1.5 fetch timeouts); KAFKA-15489, fixed in 3.7.0; KIP-853",
)


class StaleClaim(msgspec.Struct, frozen=True):
    """An answer as leader that was outdated when the request was sent.

    Attributes:
        claim: the answer.
        newer: a view of a later leader that was complete before the request; None if there was none.
        deserted_ms: how long no majority had fetched, according to the answer itself; None if one had.
        removal: the acknowledged removal of the leader from the voters; None if there was none.
        departed: the answer, this or an earlier one, that reported the end of the leader's log when it was no
            longer a voter, if this answer shows that this end was committed; None otherwise.
    """

    claim: LeaderClaim
    newer: LeaderClaim | StateFile | None
    deserted_ms: int | None
    removal: Removal | None = None
    departed: LeaderClaim | None = None


class StaleRun(msgspec.Struct, frozen=True):
    """Stale claims of one node in one epoch, in a row; at least one.

    Between them the node gave no up-to-date answer, and was not paused, killed or stopped.
    """

    claims: tuple[StaleClaim, ...]

    @property
    def span_ns(self) -> int:
        """The least time it lasted: from the first answer to the last request; 0 for a single claim."""
        return max(0, self.claims[-1].claim.began_ns - self.claims[0].claim.time_ns)


def span_bound_ms(fetch_timeout_ms: int, observe_interval_ms: int) -> float:
    """The longest run of stale claims that a correct leader may show, in milliseconds."""
    return STEP_DOWN_FACTOR * fetch_timeout_ms + observe_interval_ms + SLACK_MS


def stale_claims(
    views: Views,
    fetch_timeout_ms: int,
    removals: Sequence[Removal] = (),
    forgetting: Forgetting = REMEMBERED,
) -> dict[int, StaleClaim]:
    """Claims that were outdated when the request was sent, by their index in the history.

    If voters lost a later epoch with their disks, an epoch with a lower number may be the newer one.

    Args:
        views: all reports of nodes.
        fetch_timeout_ms: Kafka's ``controller.quorum.fetch.timeout.ms``.
        removals: voters whose removal was acknowledged.
        forgetting: the voters that lost their votes.
    """
    limit_ms = STEP_DOWN_FACTOR * fetch_timeout_ms
    stale = {}
    departed = departed_claims(views.claims)
    for claim, latest in best_before(views.sightings, views.claims, lambda view: view.epoch):
        newer = latest if latest is not None and latest.epoch > claim.epoch else None
        if newer is not None and forgetting.may_lead_anew(claim):
            newer = None
        deserted_ms = _deserted_ms(claim)
        if deserted_ms is not None and deserted_ms <= limit_ms:
            deserted_ms = None
        removal = next((r for r in removals if r.holds(claim.leader_id, claim.began_ns)), None)
        left = len(claim.voters) != 1 and (newer is not None or deserted_ms is not None)
        own = departed.get(claim.index)
        if left or removal is not None or own is not None:
            stale[claim.index] = StaleClaim(claim, newer, deserted_ms, removal, own)
    return stale


def _deserted_ms(claim: LeaderClaim) -> int | None:
    """How long no majority had fetched before the request, milliseconds; None if unknown.

    The leader counts as fetching if it is a voter.  A voter without any known fetch also counts as fetching,
    because it may be.
    """
    others = [voter.last_fetch_ms for voter in claim.voters if voter.id != claim.leader_id]
    needed = len(claim.voters) // 2 + 1 - (len(claim.voters) - len(others))
    known = sorted((at for at in others if at > NONE), reverse=True)
    needed_of_known = needed - (len(others) - len(known))
    if needed_of_known <= 0 or not known:
        return None
    asked_ms = claim.wall_ms - (claim.time_ns - claim.began_ns) // NS_PER_MS
    return asked_ms - known[needed_of_known - 1]


def stale_runs(
    claims: Sequence[LeaderClaim], stale: dict[int, StaleClaim], windows: Iterable[FaultWindow]
) -> list[StaleRun]:
    """Uninterrupted runs of stale claims for every node and epoch.

    A run ends at a claim that is not stale, and at any time in which the node was paused, killed or stopped,
    because the node could not step down then.
    """
    silent = [window for window in windows if window.silences]
    ordered = sorted(claims, key=lambda c: (c.node, c.epoch, c.time_ns, c.began_ns, c.index in stale))
    runs = []
    for _, of_leader in groupby(ordered, key=lambda claim: (claim.node, claim.epoch)):
        runs += [StaleRun(tuple(run)) for run in _broken_up(of_leader, stale, silent)]
    return runs


def _broken_up(
    claims: Iterable[LeaderClaim], stale: dict[int, StaleClaim], silent: Sequence[FaultWindow]
) -> Iterator[list[StaleClaim]]:
    run: list[StaleClaim] = []
    for claim in claims:
        if run and (claim.index not in stale or _was_silent(silent, run[-1].claim, claim)):
            yield run
            run = []
        if claim.index in stale:
            run.append(stale[claim.index])
    if run:
        yield run


def _was_silent(windows: Iterable[FaultWindow], before: LeaderClaim, after: LeaderClaim) -> bool:
    return any(w.concerns(after.node) and w.overlaps(before.time_ns, after.time_ns) for w in windows)


def zombies(runs: Iterable[StaleRun], bound_ms: float) -> list[Anomaly]:
    """One finding for every run that lasts longer than the bound."""
    return [_zombie(run, bound_ms) for run in runs if run.span_ns > bound_ms * NS_PER_MS]


def _zombie(run: StaleRun, bound_ms: float) -> Anomaly:
    first, last = run.claims[0], run.claims[-1]
    node, epoch = last.claim.node, last.claim.epoch
    span_ms = run.span_ns // NS_PER_MS
    newer = () if last.newer is None else (last.newer.index,)
    removed = () if last.removal is None else last.removal.change.operations
    departed = () if last.departed is None else (last.departed.index,)
    return ZOMBIE_LEADER.found(
        f"{node} answered as leader of epoch {epoch} for {span_ms} ms after it had lost its quorum;"
        f" {bound_ms:.0f} ms are allowed.",
        subject=f"{node}, epoch {epoch}",
        time_ns=last.claim.time_ns,
        witness=tuple(dict.fromkeys((*newer, *removed, *departed, first.claim.index, last.claim.index))),
        explanation=(_explained(first), _explained(last), f"{len(run.claims)} such answers in a row."),
    )


def _explained(stale: StaleClaim) -> str:
    claim = stale.claim
    why = []
    if stale.newer is not None:
        why.append(
            f"{stale.newer.node} had shown {stale.newer.leader_id} as leader of epoch {stale.newer.epoch}"
        )
    if stale.deserted_ms is not None:
        why.append(f"by its own answer no majority had fetched from it for {stale.deserted_ms} ms")
    if stale.removal is not None:
        why.append(f"its removal had been acknowledged at {stale.removal.change.completed_ns / 1e9:.3f} s")
    if stale.departed is not None:
        why.append("by its own answers it was no longer a voter, and that was committed")
    return (
        f"At {claim.time_ns / 1e9:.3f} s {claim.node} answered as leader of epoch {claim.epoch}"
        f" (high watermark {claim.high_watermark}), while {' and '.join(why)}."
    )
