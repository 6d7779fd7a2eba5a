"""findings/fenced-confirmed: an acknowledgement that was fenced gets the answer of another one.

``PersisterStateManager`` sends the writes that wait for a share coordinator in one WriteShareGroupState.  It
may have several writes of one share partition: those of earlier leader epochs are refused with
FENCED_LEADER_EPOCH.  ``ShareCoordinatorService.writeState`` keeps the results by partition, so that only that
of the last write is in the response.  ``WriteStateHandler.handleRequestResponse`` takes it for every write of
the partition.  So a leader confirms acknowledgements that are not stored, and the records are delivered
again.

Writes of an earlier epoch are late if the coordinator moved: they are repeated after two seconds.
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
    "share.coordinator.append.linger.ms": "300",
}
_PLACES = tuple((WORKLOAD.topics[0].name, partition) for partition in range(WORKLOAD.partitions))
_STATES = ((SHARE_STATES, 0),)
_HOME, _AWAY = (1, 2, 3), (2, 1, 3)
_COORDINATORS = ((3, 2, 1), (2, 3, 1))
_ROUNDS = 8


def _round(number: int) -> Iterator[Move]:
    """The coordinator moves while acknowledgements wait; the leader is back before they are sent again."""
    yield from moved(_STATES, _COORDINATORS[number % len(_COORDINATORS)])
    yield from moved(_PLACES, _AWAY)
    yield from moved(_PLACES, _HOME)
    yield Pass(8_000)


SCENARIO = Scenario(
    summary="Move the coordinator of a share group, then the leaders of its partitions, there and back.",
    why=(
        "Acknowledgements of two leader epochs are stored by one request. If the coordinator refuses the "
        "earlier ones, the members must know it."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(300), within_ms=60_000),
            *moved(_PLACES, _HOME),
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
