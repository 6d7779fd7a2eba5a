"""regressions/kip-932-stored-start: a delayed write takes the stored start offset of a share partition back.

Each write of the leader of a share partition has its start offset, and the share coordinator forgets the
states below it.  If the coordinator moves, writes that wait are repeated after two seconds, while later ones
are sent at once.  Before 4.4.0 the coordinator also stored a start offset that was lower than before
(``ShareCoordinatorShard.generateShareStateRecord``).  It has no states of the records between them, so the
next leader delivers accepted records again.  Kafka's pull request 23074 corrected that, without a ticket.
"""

from collections.abc import Iterator

from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Mode,
    Move,
    Pass,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Topology,
    Validity,
)
from scenarios.sharing import SHARE_STATES, moved, share_brokers

WORKLOAD = ShareWorkload(rate=4, members=12, poll_records_max=5)
CONFIG = {
    "share.coordinator.state.topic.num.partitions": "1",
    # Acknowledgements wait, as on a network or disks that are slow.
    "share.coordinator.append.linger.ms": "300",
}
_COORDINATORS = ((1, 2, 3), (2, 1, 3))
_ROUNDS = 8


def _rounds() -> Iterator[Move]:
    """The coordinator moves while acknowledgements wait, and has stored all of them when it moves again."""
    for number in range(_ROUNDS):
        yield from moved(((SHARE_STATES, 0),), _COORDINATORS[number % len(_COORDINATORS)])
        yield Pass(6_000)


SCENARIO = Scenario(
    summary="Move the coordinator of a share group while acknowledgements wait.",
    why=(
        "A write that waited has an earlier start offset than those that overtook it. If the coordinator "
        "stores it, the next leader delivers records again that were accepted."
    ),
    schedule=ScriptedSchedule(
        moves=(Await(Acknowledged(100), within_ms=60_000), Pass(5_000), *_rounds()), duration_ms=65_000
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=share_brokers(WORKLOAD) | CONFIG),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("share-state-start-back",),
            before="4.4.0",
            why="Kafka's pull request 23074: fixed in 4.4.0",
        ),
    ),
    ticket="KIP-932",
)
