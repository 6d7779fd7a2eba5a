"""Moves that change versions of nodes one after the other, each when the whole cluster is in sync again."""

from collections.abc import Iterator, Sequence

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    Heal,
    Inject,
    InSync,
    LeadsQuorum,
    LogWorkload,
    Member,
    Move,
    Upgrade,
    VotersCaughtUp,
    brokers,
    controllers,
)

CONTROLLERS = controllers(3)
BROKERS = brokers(3)
OLDEST = "3.9.0"
"""What nodes begin with: the newest version before 4.0, and the first one with a dynamic quorum."""
LOAD = LogWorkload(rate=100, producers=2, partitions=4)
HELD = Assumptions(
    fault_held_ms=1_000,
    why_lowered="Many faults follow one another, and an upgrade takes a node away only for its start.",
)
WHOLE: tuple[Move, ...] = (
    Await(LeadsQuorum()),
    Await(VotersCaughtUp(), within_ms=60_000),
    *(Await(InSync("log-0", partition, BROKERS), within_ms=60_000) for partition in range(LOAD.partitions)),
)
"""Nothing is out of sync, so that the next node may go."""
WRITTEN = Await(Acknowledged(40), within_ms=30_000)
"""Clients write while a node is away: they may need longer to find other leaders than the node is held."""


def changed(*members: Member, version: str | None = None, whole: Sequence[Move] = WHOLE) -> Iterator[Move]:
    """Give one node after the other another version.

    Args:
        members: the nodes.
        version: of Kafka; None: the run's.
        whole: waits until the next node may go.
    """
    for member in members:
        name = f"{member.role}-{member.number}-{'up' if version is None else 'back'}"
        yield from (Inject(name, Upgrade(member, version=version)), WRITTEN, Heal(name), *whole)
