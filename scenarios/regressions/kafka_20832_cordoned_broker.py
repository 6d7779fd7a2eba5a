"""regressions/kafka-20832-cordoned-broker: a reassignment to a broker whose log directories are all cordoned.

KIP-1066 closes log directories for new replicas.  In 4.3 only the automatic placement leaves out a broker
whose directories are all cordoned; `ReplicationControlManager.validateManualPartitionAssignment` does not
look at them, neither for assignments of new partitions nor for reassignments.
"""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Configure,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    brokers,
)

_B = brokers(4)

SCENARIO = Scenario(
    summary="Cordon all log directories of a broker, and reassign a partition to it.",
    why=(
        "An operator cordons directories before disks are full or replaced. A replica that is assigned "
        "nevertheless is created on one of them."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Configure(_B[3], {"cordoned.log.dirs": "*"}),
            Inject("restart", Stop(_B[3])),
            Await(Acknowledged(100)),
            Heal("restart"),
            # Its replica is back, and it reports its directories with its next heartbeats.
            Await(InSync("log-0", 1, (_B[2], _B[3])), within_ms=60_000),
            Pass(3_000),
            Perform(
                Reassign((("log-0", 0, (1, 4)),)),
                expect=(ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            ),
            Await(NothingMoves()),
            Await(Acknowledged(100)),
            Pass(3_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2), (3, 4)), min_insync_replicas=1, rate=100, producers=2),
    kafka_version="4.4.0",
    versions_min="4.3.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("assigned-to-cordoned",),
            before="4.3.2",
            why="KAFKA-20832: fixed in 4.3.2 and 4.4.0",
        ),
    ),
    ticket="KAFKA-20832",
)
