"""findings/initialised-again: a share coordinator initialises a state that members use already.

The coordinator of a share group asks again for what a share coordinator has not answered for a while
(``GroupMetadataManager.subscribedTopicsChangeMap``).  Both requests are repeated after about 2, 4, 8 and
16 seconds (``PersisterStateManager``).  Here there is no share coordinator for about 27.5 s:

* the first one is repeated after 30 s and succeeds; members get the partition and acknowledge records;
* the second one, sent after 20 s, is repeated after 34 s, and replaces the state by an empty one.

A partition that is added between the two, after 6 s, makes the group's epoch higher, and with it the state
epoch of the second request.  The interval begins anew then, so it is 14 s.

The pauses vary by a fifth, and a broker does not start equally fast each time, so there are three rounds.  If
the first request has failed five times before there is a coordinator, the next heartbeat asks again at once.
Then both requests may have one state epoch; the start offset goes back, or states are missing in a snapshot.
"""

from collections.abc import Iterator

from harness.vocabulary import (
    Acknowledged,
    AddPartitions,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    Mode,
    Move,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Stop,
    Topology,
    Validity,
    broker,
)
from scenarios.sharing import INITIALISED_AGAIN, SHARE_STATES, moved, share_brokers

WORKLOAD = ShareWorkload(rate=20)
CONFIG = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.initialize.retry.interval.ms": "14000",
}
_OFFSETS = "__consumer_offsets"
_HOME = broker(3)
_ROUNDS = 3


def _placed() -> Iterator[Move]:
    """Broker 1 coordinates the group; only broker 3 has the states."""
    yield from moved(((_OFFSETS, 0),), (1, 2, 3))
    yield Perform(Reassign(((SHARE_STATES, 0, (3,)),)), expect=(ErrorCode.NONE,), until_ms=10_000)
    yield Await(NothingMoves())


def _added(partitions: int) -> Perform:
    """Add partitions up to this number; a request that is repeated may find them there."""
    expected = (ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS)
    return Perform(AddPartitions(partitions), expect=expected, until_ms=10_000)


def _rounds() -> Iterator[Move]:
    """The group begins to read two more partitions, whose states can't be written for 27.5 s.

    Of these, the broker takes three to five to start.
    """
    for number in range(_ROUNDS):
        partitions = WORKLOAD.partitions + 2 * number
        yield Inject(f"away-{number}", Stop(_HOME))
        yield _added(partitions + 1)
        yield Pass(5_000)
        yield _added(partitions + 2)
        yield Pass(19_700)
        yield Heal(f"away-{number}")
        yield Pass(20_000)


SCENARIO = Scenario(
    summary="Add partitions to the topic of a share group while the share coordinator is away.",
    why=(
        "The group's coordinator asks twice to initialise the state. A request that is carried out when "
        "members use the state takes their acknowledgements away, and accepted records are delivered again."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(1_000), within_ms=60_000),
            *_placed(),
            Pass(10_000),
            *_rounds(),
            Await(Acknowledged(500)),
            Pass(5_000),
        ),
        duration_ms=175_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=share_brokers(WORKLOAD) | CONFIG),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            INITIALISED_AGAIN.anomalies,
            # The last two: both requests may have one state epoch.
            consequences=(
                *INITIALISED_AGAIN.consequences,
                "share-snapshot-incomplete",
                "share-state-start-back",
            ),
            why="found on 4.3.1 and 4.4.0; pull request 23190 corrects one form after 4.4.0",
        ),
    ),
    ticket="KIP-932",
)
