"""Moves on the quorum that several scripts share: add and remove voters, cut controllers off."""

from collections.abc import Sequence

from harness.vocabulary import (
    AddVoter,
    Among,
    Await,
    ErrorCode,
    IsObserver,
    Member,
    Partition,
    Pattern,
    Perform,
    RemoveVoter,
    Target,
    VotersAre,
)


def cut_off(controller: Member | Target) -> Partition:
    """Cut one controller off from the other controllers; brokers and clients still reach it."""
    return Partition(Pattern.ISOLATE_ONE, controller, among=Among.CONTROLLERS)


def added(newcomer: Member, voters: Sequence[Member]) -> tuple[Perform | Await, ...]:
    """Add an observer to the voters, and wait until the leader reports these voters."""
    return (
        Perform(AddVoter(newcomer), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=30_000),
        Await(VotersAre(tuple(voters))),
    )


def joined(controllers: Sequence[Member], count: int) -> tuple[Perform | Await, ...]:
    """Wait until a controller is an observer, add it to the voters, and wait until the leader reports it.

    Args:
        controllers: in the order in which they join.
        count: number of voters afterwards, including the new one, which is the last.
    """
    newcomer = controllers[count - 1]
    return Await(IsObserver(newcomer)), *added(newcomer, controllers[:count])


def removed(voter: Member, voters: Sequence[Member]) -> tuple[Perform | Await, ...]:
    """Remove a voter, and wait until the leader reports the voters that are left."""
    return (
        Perform(RemoveVoter(voter), expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND), until_ms=30_000),
        Await(VotersAre(tuple(voters))),
    )
