"""States of the quorum of controllers, by what its leaders answered and what nodes have on their disks."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np

from checkers.columns import NEVER
from checkers.history import History
from checkers.quorum.changes import ADD, voter_changes
from checkers.quorum.views import NONE, LeaderClaim, StateFile, views_of
from checkers.setup import Setup
from results.states.partitions import LED
from results.states.tracks import ALWAYS_NS, Integers, Track, Visited, Word, beside, spans, track, walked
from results.states.trouble import WELL, Trouble

ACTOR = "quorum"
WORDS = (
    Word("leader", LED),
    Word("voters", ("well", "struck", "majority-struck")),
    Word("changing", ("", "adding", "removing", "both")),
    Word("rival", ("", "yes")),
    Word("epoch", ("", "without-leader")),
    Word("size", ("fewer", "", "more")),
)
"""Leader: what befalls the node of the newest epoch's leader, or *nobody* where none answered for a while.
Voters: how many of them faults befall.  Changing: requests to change the set are under way (KIP-853).
Rival: one of an older epoch still answers as leader.  Epoch: no node has told yet who leads the newest one.
Size: of the set, against the first one."""
EVENTS = ("", "elected", "voters-changed")
_ELECTED, _CHANGED = 1, 2
_SILENT_INTERVALS = 4
"""So many intervals of its observer without an answer of any leader: there is nobody."""
_NS_PER_MS = 1_000_000


def quorum_visited(states: Track) -> Visited:
    """States and transitions of the quorum, from what `quorum_of` returns."""
    return walked(ACTOR, WORDS, states.rows[:, :-1], EVENTS, states.rows[:, -1])


def quorum_of(history: History, setup: Setup, trouble: Trouble) -> Track:
    """The quorum's states, a column for each of `WORDS`, then the event of `EVENTS`; empty without answers.

    Raises:
        msgspec.ValidationError: an answer, a file or a request is not as docs/histories.md says.
    """
    views = views_of(history)
    claims = sorted(views.claims, key=lambda claim: (claim.time_ns, claim.index))
    bound_ns = _SILENT_INTERVALS * setup.observe_interval_ms * _NS_PER_MS
    tracks = (
        trouble.nodes,
        track(_leaders(claims, trouble, bound_ns), 5),
        track(_epochs(views.files), 1),
        spans(_changes(history), 2),
    )
    laid = beside(*tracks)
    troubles, told, epochs, changing = (
        one.rows[place] for one, place in zip(tracks, laid.places, strict=True)
    )
    leader, rival, claim, silent, event = told.T
    voters = _voters(claims, trouble)
    votes = voters[claim]
    away, size = ((troubles > WELL) & votes).sum(axis=1), votes.sum(axis=1)
    rows = np.stack(
        (
            np.where(silent, 0, troubles[np.arange(len(troubles)), leader] + 1),
            (away > 0).astype(np.int64) + ((away > 0) & (2 * (size - away) <= size)),
            (changing[:, 0] > 0) + 2 * (changing[:, 1] > 0),
            rival,
            epochs[:, 0],
            np.sign(size - voters[:1].sum()) + 1,
            np.where(laid.owner == 1, event, 0),
        ),
        axis=1,
    )
    return Track(laid.time_ns, rows)


def _leaders(
    claims: Sequence[LeaderClaim], trouble: Trouble, bound_ns: int
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Time, column of the leader, rival, place of the claim that tells the voters, silent, event."""
    place = 0
    for number, (claim, following) in enumerate(zip_longest(claims, claims[1:])):
        newest, event = claims[place], 0
        if claim.epoch >= newest.epoch:
            event = _ELECTED if claim.epoch > newest.epoch else _CHANGED * (_ids(claim) != _ids(newest))
            newest, place = claim, number
        (leader,) = trouble.columns([newest.leader_id])
        yield claim.time_ns, leader, claim.epoch < newest.epoch, place, 0, event
        if following is None or following.time_ns - claim.time_ns > bound_ns:
            yield claim.time_ns + bound_ns, leader, 0, place, 1, 0


def _ids(claim: LeaderClaim) -> frozenset[int]:
    return frozenset(voter.id for voter in claim.voters)


def _voters(claims: Sequence[LeaderClaim], trouble: Trouble) -> Integers:
    """Who votes, by each claim: shape (claims, nodes + 1)."""
    members = np.zeros((len(claims), trouble.nobody + 1), np.int64)
    for place, claim in enumerate(claims):
        members[place, trouble.columns(sorted(_ids(claim)))] = 1
    return members


def _epochs(files: Sequence[StateFile]) -> Iterator[tuple[int, int]]:
    """Time, and whether no file yet tells who leads the newest epoch that any tells of."""
    yield ALWAYS_NS, 0
    newest = NONE
    for file in sorted(files, key=lambda file: (file.time_ns, file.index)):
        if file.epoch > newest:
            newest = file.epoch
            yield file.time_ns, file.leader_id == NONE
        elif file.epoch == newest and file.leader_id != NONE:
            yield file.time_ns, 0


def _changes(history: History) -> Iterator[tuple[int, int, int]]:
    for change in voter_changes(history):
        ended_ns = min((history.operations[place].time_ns for place in change.operations[1:]), default=NEVER)
        yield int(change.f != ADD), change.invoked_ns, ended_ns
