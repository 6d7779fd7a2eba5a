"""kips/kip-1066-cordoned: a broker's directories are cordoned while it runs, and opened again."""

from harness.vocabulary import (
    Acknowledged,
    AddPartitions,
    AlterBroker,
    Await,
    ErrorCode,
    Heal,
    Inject,
    LogWorkload,
    Mode,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    Topology,
    brokers,
)

_B = brokers(4)
_CORDONED = "cordoned.log.dirs"

SCENARIO = Scenario(
    summary="Cordon all directories of a broker under load, add partitions, move one there; open them again.",
    why=(
        "No replica may be placed on a cordoned broker, whoever chooses the brokers, also after the active "
        "controller changed. When the directories are open again, the broker must get replicas as before."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Perform(AlterBroker(_B[3], _CORDONED, "*"), expect=(ErrorCode.NONE,), until_ms=30_000),
            # The broker reports its directories with its next heartbeat.
            Pass(3_000),
            Perform(AddPartitions(4), expect=(ErrorCode.NONE,), until_ms=30_000),
            Perform(
                Reassign((("log-0", 0, (1, 4)),)),
                expect=(ErrorCode.INVALID_REPLICA_ASSIGNMENT,),
            ),
            Inject("leader", Stop(Target.ACTIVE_CONTROLLER)),
            Await(Acknowledged(40), within_ms=60_000),
            Pass(5_500),
            Heal("leader"),
            Perform(AddPartitions(8), expect=(ErrorCode.NONE,), until_ms=30_000),
            Perform(
                Reassign((("log-0", 0, (1, 4)),)),
                expect=(ErrorCode.INVALID_REPLICA_ASSIGNMENT,),
                until_ms=15_000,
            ),
            Perform(AlterBroker(_B[3], _CORDONED, None), expect=(ErrorCode.NONE,), until_ms=30_000),
            Pass(3_000),
            Perform(Reassign((("log-0", 0, (1, 4)),)), expect=(ErrorCode.NONE,), until_ms=15_000),
            Await(NothingMoves()),
            Await(ReplicasAre("log-0", 0, (_B[0], _B[3]))),
            Await(Acknowledged(100)),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=4),
    workload=LogWorkload(assignments=((1, 2), (3, 4)), min_insync_replicas=1, rate=100, producers=2),
    versions_min="4.3.2",
    ticket="KIP-1066, KAFKA-20832",
)
