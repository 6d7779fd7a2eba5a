"""Leaders that are not voters according to their own answers."""

from collections.abc import Sequence
from itertools import groupby

from checkers.kraft.quorum.views import NONE, LeaderClaim


def departed_claims(claims: Sequence[LeaderClaim]) -> dict[int, LeaderClaim]:
    """Answers of a leader without itself among the voters, once that set of voters was committed.

    The set is committed when the leader's high watermark has come to where its own log ended in an answer
    that had the set already, the same one or one before it.

    Returns:
        By the index of such an answer the one that reported where the log ended.
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
            told = earlier is claim or earlier.time_ns < claim.began_ns
            if told and claim.high_watermark >= end:
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
