"""Removed voters: they neither lead nor vote until they are added again."""

from collections.abc import Iterable, Sequence

import msgspec

from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.kafka_versions import KafkaVersions
from checkers.history.setup import Setup
from checkers.kraft.quorum.changes import ADD, REMOVE, VoterChange
from checkers.kraft.quorum.explaining import joins_by_itself
from checkers.kraft.quorum.views import NONE, LeaderClaim, StateFile, Views
from checkers.kraft.quorum.voter_sets import Flip
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

REMOVED_VOTER_ACTS = AnomalyKind(
    id="removed-voter-acts",
    meaning="A removed voter led or voted in an epoch after the one in which its removal was committed.",
    guarantee="A removed voter never leads or votes again with the same disk.",
    source="KIP-853, Remove Voter; Raft (Ongaro and Ousterhout 2014), Leader Completeness",
)
EPOCHS_SEEN_WITHIN_NS = 5_000_000_000
"""Used without the log: within this time observers have seen every epoch that existed at a removal."""


class Removal(msgspec.Struct, frozen=True):
    """An acknowledged removal.

    Attributes:
        change: the request.
        epoch: it was committed in this epoch or an earlier one.
        until_ns: time from which the node may be a voter again.
    """

    change: VoterChange
    epoch: int
    until_ns: int

    def holds(self, voter: int, time_ns: int) -> bool:
        """Whether that voter is certainly removed at that time."""
        return voter == self.change.id and self.change.completed_ns < time_ns < self.until_ns


def removals(
    changes: Sequence[VoterChange], logged: Iterable[Sequence[Flip]], views: Views, versions: KafkaVersions
) -> list[Removal]:
    """All acknowledged removals that nothing may have undone.

    A removal is left out if an unanswered request to add that node came before it, or if the node joins by
    itself.
    """
    left = [flip for flips in logged for flip in flips if not flip.joined]
    found = []
    for change in changes:
        if change.f != REMOVE or not change.acknowledged or joins_by_itself(versions, change.id):
            continue
        adds = [each for each in changes if each.f == ADD and each.id == change.id and each.possible]
        if all(add.acknowledged or add.invoked_ns > change.invoked_ns for add in adds):
            later = (add.invoked_ns for add in adds if add.invoked_ns > change.invoked_ns)
            found.append(Removal(change, _epoch(change, left, views), min(later, default=FOREVER_NS)))
    return found


def _epoch(change: VoterChange, left: Iterable[Flip], views: Views) -> int:
    """The epoch of the removal's record, or else the highest epoch that any node reported shortly after."""
    records = [flip.after.epoch for flip in left if change.concerns(flip.id, flip.directory_id)]
    if records:
        return max(records)
    known_ns = change.completed_ns + EPOCHS_SEEN_WITHIN_NS
    every: list[LeaderClaim | StateFile] = [*views.claims, *views.files]
    return max((view.epoch for view in every if view.began_ns <= known_ns), default=NONE)


def acts_of_removed(found: Iterable[Removal], views: Views, setup: Setup) -> list[Anomaly]:
    """For every removal, the first view in which the voter leads, and the first in which it voted."""
    acts = []
    for removal in found:
        acts += _leading(removal, views)[:1]
        acts += _voting(removal, views, setup)[:1]
    return acts


def _leading(removal: Removal, views: Views) -> list[Anomaly]:
    later = [
        view
        for view in sorted(views.sightings, key=lambda view: (view.time_ns, view.index))
        if view.leader_id == removal.change.id
        and view.epoch > removal.epoch
        and view.time_ns < removal.until_ns
    ]
    return [_act(removal, view, f"led epoch {view.epoch}", ()) for view in later]


def _voting(removal: Removal, views: Views, setup: Setup) -> list[Anomaly]:
    """Votes in epochs after one whose leader had seen the voter fetch the record of its own removal.

    A voter that has not yet received that record may vote, because no candidate wins by such a vote.
    """
    knowing = [claim for claim in views.claims if _shows_that_it_knows(claim, removal)]
    if not knowing:
        return []
    known = min(knowing, key=lambda claim: (claim.epoch, claim.time_ns))
    node = setup.controllers.get(removal.change.id)
    votes = [
        file
        for file in sorted(views.files, key=lambda file: (file.time_ns, file.index))
        if file.node == node
        and removal.change.concerns(removal.change.id, file.directory_id)
        and file.voted_id > NONE
        and file.epoch > known.epoch
        and file.time_ns < removal.until_ns
    ]
    why = f"At {known.time_ns / 1e9:.3f} s it had fetched all committed records, by the leader's answer."
    return [
        _act(removal, file, f"voted for {file.voted_id} in epoch {file.epoch}", ((known.index, why),))
        for file in votes
    ]


def _shows_that_it_knows(claim: LeaderClaim, removal: Removal) -> bool:
    """Whether the leader lists it as an observer that has fetched a high watermark above the removal."""
    change = removal.change
    return (
        removal.holds(change.id, claim.began_ns)
        and claim.epoch >= removal.epoch
        and claim.high_watermark > NONE
        and all(voter.id != change.id for voter in claim.voters)
        and any(
            change.concerns(observer.id, observer.directory_id)
            and observer.log_end_offset >= claim.high_watermark
            for observer in claim.observers
        )
    )


def _act(
    removal: Removal, view: LeaderClaim | StateFile, what: str, proof: Sequence[tuple[int, str]]
) -> Anomaly:
    change = removal.change
    since = (
        f"Its removal was acknowledged at {change.completed_ns / 1e9:.3f} s and committed in epoch"
        f" {removal.epoch} at the latest."
    )
    return REMOVED_VOTER_ACTS.found(
        f"Voter {change.id} ({change.directory_id}) {what} after it had been removed.",
        subject=f"voter {change.id}",
        time_ns=view.time_ns,
        witness=(*change.operations, *(index for index, _ in proof), view.index),
        explanation=(
            since,
            *(text for _, text in proof),
            f"At {view.time_ns / 1e9:.3f} s {view.node} showed that it {what}.",
        ),
    )
