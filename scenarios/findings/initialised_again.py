"""findings/initialised-again: a share coordinator initialises a state that members use already.

The coordinator of a share group asks again for what share coordinators have not answered for a while
(``GroupMetadataManager.subscribedTopicsChangeMap``).  Both requests are repeated after about 2, 4, 8 and
16 seconds (``PersisterStateManager.InitializeStateHandler``).  Here they get no in-sync replicas for 27.5 s:

* the first one is repeated after 30 s and succeeds; members get the partition and acknowledge records;
* the second one, sent after 20 s, is repeated after 35 s, and replaces the state by an empty one.

The pauses vary by a fifth, so one round shows it in about three of four cases, by their distribution.
"""

from collections.abc import Iterator

from harness.vocabulary import (
    Acknowledged,
    AddPartitions,
    AlterTopic,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    Mode,
    Move,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Stop,
    Topology,
    Validity,
    broker,
)
from scenarios.sharing import INITIALISED_AGAIN, SHARE_STATES, share_brokers

WORKLOAD = ShareWorkload(rate=20)
CONFIG = {
    "share.coordinator.state.topic.num.partitions": "1",
    "group.share.initialize.retry.interval.ms": "20000",
}
_OUT = broker(3)
_ROUNDS = 2


def _in_sync_min(replicas: int) -> Perform:
    """Set how many replicas of the states must be in sync; two are."""
    return Perform(AlterTopic(SHARE_STATES, "min.insync.replicas", str(replicas)), expect=(ErrorCode.NONE,))


def _rounds() -> Iterator[Move]:
    """The group begins to read another partition, whose state can't be written for 27.5 s."""
    added = (ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS)
    for partitions in range(WORKLOAD.partitions + 1, WORKLOAD.partitions + 1 + _ROUNDS):
        yield _in_sync_min(3)
        yield Perform(AddPartitions(partitions), expect=added, until_ms=10_000)
        yield Pass(27_700)
        yield _in_sync_min(2)
        yield Pass(15_000)


SCENARIO = Scenario(
    summary="Add a partition to the topic of a share group while states of share groups can't be written.",
    why=(
        "The group's coordinator asks twice to initialise the state. A request that is carried out when "
        "members use the state takes their acknowledgements away, and accepted records are delivered again."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(1_000), within_ms=60_000),
            Pass(10_000),
            Inject("third", Stop(_OUT)),
            Await(InSync(SHARE_STATES, 0, (broker(1), broker(2)))),
            *_rounds(),
            Heal("third"),
            Await(Acknowledged(500)),
            Pass(5_000),
        ),
        duration_ms=125_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=share_brokers(WORKLOAD) | CONFIG),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            INITIALISED_AGAIN.anomalies,
            # The last two: if no member joined or left between the requests, both have one state epoch.
            consequences=(
                *INITIALISED_AGAIN.consequences,
                "share-snapshot-incomplete",
                "share-state-start-back",
            ),
            why="read in the source of 4.3.1 and 4.4.0; pull request 23190 corrects one form after 4.4.0",
        ),
    ),
    ticket="KIP-932",
)
