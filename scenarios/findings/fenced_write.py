"""findings/fenced-write: a leader confirms acknowledgements that the share coordinator refused.

``PersisterStateManager`` sends one WriteShareGroupState at a time to a share coordinator, with all writes
that wait for it.  It may have several writes of one share partition, also of two leader epochs.  The
coordinator refuses those of the earlier epoch (FENCED_LEADER_EPOCH), but
``ShareCoordinatorService.writeState`` keeps one result for each partition, the last one.  Each
``WriteStateHandler.handleRequestResponse`` takes it for the result of its own write.

So a broker has to lead again while writes of its earlier epoch wait.  Here the coordinator moves, so that
these writes are repeated after about two seconds.  Meanwhile the leader moves to another broker and back,
reads the state, and delivers the same records again.  Which write is the last one of a request is left to
chance.  One group of many members that acknowledge one partition, a few records at a time, makes it likely
that writes of the new epoch come after repeated ones, and appends of 200 ms that they are sent together.
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
from scenarios.sharing import FENCED_WRITE, SHARE_STATES, moved, share_brokers

WORKLOAD = ShareWorkload(
    rate=12, partitions=1, groups=("share-0",), members=10, poll_records_max=2, request_ms=10_000
)
_PLACES = tuple((WORKLOAD.topics[0].name, partition) for partition in range(WORKLOAD.partitions))
_STATES = ((SHARE_STATES, 0),)
_HOME, _AWAY = (1, 2, 3), (2, 1, 3)
_COORDINATORS = ((3, 2, 1), (2, 3, 1))
_ROUNDS = 8
_CONFIG = share_brokers(WORKLOAD) | {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.append.linger.ms": "200",
}
"""One coordinator has all states.  A write waits this long, so that others collect meanwhile."""


def _rounds() -> Iterator[Move]:
    """The coordinator moves, so that writes are repeated later; then the leader moves, and back."""
    for number in range(_ROUNDS):
        yield from moved(_STATES, _COORDINATORS[number % 2])
        yield from moved(_PLACES, _AWAY)
        yield from moved(_PLACES, _HOME)
        yield Pass(4_500)


SCENARIO = Scenario(
    summary="Move the share coordinator, and the leader away and back, while acknowledgements wait.",
    why=(
        "Waiting writes of two leader epochs are sent together, and the last result counts for all. A write "
        "that was refused is confirmed, and its records are delivered again."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *moved(_STATES, _COORDINATORS[1]),
            *moved(_PLACES, _HOME),
            Pass(4_000),
            *_rounds(),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=_CONFIG),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            FENCED_WRITE.anomalies,
            consequences=FENCED_WRITE.consequences,
            why="found on 4.3.1 and 4.4.0 on a busy host; it is a race, and not every run shows it",
        ),
    ),
    ticket="KIP-932",
)
