"""Controllers that join a quorum, as scripts of several scenarios let them."""

from collections.abc import Sequence

from harness.vocabulary import AddVoter, Await, ErrorCode, IsObserver, Member, Perform, VotersAre


def joined(controllers: Sequence[Member], count: int) -> tuple[Await | Perform, ...]:
    """Wait for a controller to follow, let it vote, and wait until the leader reports it.

    Args:
        controllers: in the order in which they join.
        count: number of voters afterwards, including the new one, which is the last.
    """
    newcomer = controllers[count - 1]
    return (
        Await(IsObserver(newcomer)),
        Perform(AddVoter(newcomer), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=30_000),
        Await(VotersAre(tuple(controllers[:count]))),
    )
