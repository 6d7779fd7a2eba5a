"""findings/accepted-again: the leader of a share partition reads its state while acknowledgements wait.

A broker keeps the state of a share partition in an instance of ``SharePartition``.  When a request of an
older instance fails, as by FENCED_LEADER_EPOCH, ``SharePartitionManager.removeSharePartitionFromCache``
removes the instance that the broker has now, because it looks for it by its key.  The next instance reads the
state from the share coordinator.  ``PersisterStateManager`` sends one WriteShareGroupState at a time to a
coordinator, and others wait meanwhile; a ReadShareGroupState does not wait for these.  The waiting writes are
confirmed later.  Both instances have the same leader epoch, so nothing is fenced, and the records are
delivered again.

A request of an older instance fails late if its coordinator moved: it is repeated after two seconds.
"""

from collections.abc import Iterator

from harness.vocabulary import (
    Acknowledged,
    Await,
    Mode,
    Move,
    Pass,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Topology,
)
from scenarios.sharing import SHARE_STATES, moved, share_brokers

WORKLOAD = ShareWorkload(rate=24, members=10, poll_records_max=10, request_ms=10_000)
CONFIG = {
    "share.coordinator.state.topic.num.partitions": "1",
    # Acknowledgements wait, as on a network or disks that are slow.
    "share.coordinator.append.linger.ms": "500",
}
_PLACES = tuple((WORKLOAD.topics[0].name, partition) for partition in range(WORKLOAD.partitions))
_STATES = ((SHARE_STATES, 0),)
_HOME, _AWAY = (1, 2, 3), (2, 1, 3)
_COORDINATORS = ((3, 2, 1), (2, 3, 1))
_READ_MS = (50, 150, 250, 350)
"""How long after an election the coordinator moves; meanwhile the new leader reads the states."""
_ROUNDS = 8


def _round(number: int) -> Iterator[Move]:
    """The coordinator moves while the leader reads the states, whose request is fenced two seconds later."""
    yield from moved(_PLACES, _AWAY)
    yield Pass(1_500)
    yield from moved(_PLACES, _HOME)
    yield Pass(_READ_MS[number % len(_READ_MS)])
    yield from moved(_STATES, _COORDINATORS[number % len(_COORDINATORS)])
    yield from moved(_PLACES, _AWAY)
    yield from moved(_PLACES, _HOME)
    yield Pass(6_000)


SCENARIO = Scenario(
    summary="Move the leaders of share partitions and their coordinator while the leaders read the states.",
    why=(
        "A late answer to an earlier instance of a share partition removes the one that a broker has now. "
        "The next one reads the state before acknowledgements that wait are stored."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(300), within_ms=60_000),
            Pass(5_000),
            *(move for number in range(_ROUNDS) for move in _round(number)),
        ),
        duration_ms=90_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=share_brokers(WORKLOAD) | CONFIG),
    workload=WORKLOAD,
    versions_min="4.2.0",
    ticket="KIP-932",
)
