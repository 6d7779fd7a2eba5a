"""Moves that change versions of nodes one after the other, each when the whole cluster is in sync again."""

from collections.abc import Iterator, Sequence

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    LeadsQuorum,
    LogWorkload,
    Member,
    Move,
    Perform,
    UpdateFeature,
    Upgrade,
    VotersCaughtUp,
    Workload,
    brokers,
    controllers,
)

CONTROLLERS = controllers(3)
BROKERS = brokers(3)
OLDEST = "3.9.0"
"""What nodes begin with: the newest version before 4.0, and the first one with a dynamic quorum."""
BETWEEN = ("4.1.1", "4.3.1")
"""Versions that a chain of upgrades from the oldest one passes."""
LOAD = LogWorkload(rate=100, producers=2, partitions=4)
HELD = Assumptions(
    fault_held_ms=1_000,
    why_lowered="Many faults follow one another, and an upgrade takes a node away only for its start.",
)

FEW = Assumptions(
    fault_held_ms=1_000,
    invoked_during=5,
    why_lowered="Without two brokers little is sent, and an upgrade takes a node away only for its start.",
)


def whole_under(load: Workload) -> tuple[Move, ...]:
    """Waits until nothing is out of sync, so that the next node may go; each broker has a replica of all."""
    places = [(topic.name, partition) for topic in load.topics for partition in range(load.partitions)]
    return (
        Await(LeadsQuorum()),
        Await(VotersCaughtUp(), within_ms=60_000),
        *(Await(InSync(*place, BROKERS), within_ms=60_000) for place in places),
    )


WHOLE = whole_under(LOAD)
WRITTEN = Await(Acknowledged(40), within_ms=30_000)
"""Clients write while a node is away: they may need longer to find other leaders than the node is held."""


def changed(
    *members: Member, version: str | None = None, whole: Sequence[Move] = WHOLE, to: str = ""
) -> Iterator[Move]:
    """Give one node after the other another version.

    Args:
        members: the nodes.
        version: of Kafka; None: the run's.
        whole: waits until the next node may go.
        to: ends the names of the faults; by default ``up`` or ``back``.
    """
    end = to or ("up" if version is None else "back")
    for member in members:
        name = f"{member.role}-{member.number}-{end}"
        yield from (Inject(name, Upgrade(member, version=version)), WRITTEN, Heal(name), *whole)


def raised(*features: str) -> Iterator[Move]:
    """Raise features to the newest levels that brokers support."""
    for feature in features:
        yield Perform(UpdateFeature(feature), expect=(ErrorCode.NONE,), until_ms=30_000)


def chain(*members: Member) -> Iterator[Move]:
    """Give all nodes one version after the other, and raise features each time, as one cluster lives on.

    Features that no version before 4.0 had are raised at the end.
    """
    for number, version in enumerate((*BETWEEN, None), start=1):
        yield from changed(*members, version=version, to=f"upgrade-{number}")
        yield from raised("metadata.version")
    yield from raised("transaction.version", "group.version")
