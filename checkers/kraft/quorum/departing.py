"""Leaders that are not voters according to their own answers."""

from collections.abc import Sequence
from itertools import groupby

from checkers.kraft.quorum.views import NONE, LeaderClaim


def departed_claims(claims: Sequence[LeaderClaim]) -> dict[int, LeaderClaim]:
    """A leader's answers that do not list it as a voter, once that voter set was committed.

    The set is committed when the leader's high watermark has reached the end that its own log had in this
    answer, or in an earlier answer with the same set.

    Returns:
        The index of each such answer, with the answer that reported the end of the log.
    """
    outside = [claim for claim in claims if claim.voters and not _votes(claim)]
    ordered = sorted(outside, key=lambda claim: (claim.node, claim.epoch, claim.began_ns))
    departed = {}
    for _, of_leader in groupby(ordered, key=lambda claim: (claim.node, claim.epoch)):
        departed.update(_of_epoch(list(of_leader)))
    return departed


def _votes(claim: LeaderClaim) -> bool:
    return any(voter.id == claim.leader_id for voter in claim.voters)


def _of_epoch(claims: Sequence[LeaderClaim]) -> dict[int, LeaderClaim]:
    ends = [(claim, end) for claim in claims for end in _own_ends(claim)]
    found = {}
    for claim in claims:
        for earlier, end in ends:
            known = earlier is claim or earlier.time_ns < claim.began_ns
            if known and claim.high_watermark >= end:
                found[claim.index] = earlier
                break
    return found


def _own_ends(claim: LeaderClaim) -> list[int]:
    """The end of the leader's own log: one number, or none if its answer does not list itself."""
    return [
        observer.log_end_offset
        for observer in claim.observers
        if observer.id == claim.leader_id and observer.log_end_offset > NONE
    ][:1]
