"""disks/one-of-two: a broker with two log directories loses one, while its partitions move."""

from harness.vocabulary import (
    Acknowledged,
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
    Scenario,
    ScriptedSchedule,
    Topology,
    WipeDisk,
    broker,
)

SCENARIO = Scenario(
    summary="Empty one of a broker's two log directories while partitions are moved onto that broker.",
    why=(
        "When one of two directories is lost, half of a broker's replicas are lost and half stay. A "
        "reassignment that had copied to the lost half must not count as complete."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Perform(Reassign((("log-0", 0, (1, 2, 4)), ("log-0", 1, (2, 4)))), expect=(ErrorCode.NONE,)),
            Inject("directory", WipeDisk(broker(4), log_dir=2)),
            Pass(5_500),
            Heal("directory"),
            Await(NothingMoves(), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=35_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4, log_dirs=2),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (2, 3, 4), (3, 4, 1)), rate=100, producers=2),
    versions_min="3.9.0",
    ticket="KIP-858",
)
