"""regressions/kafka-15665-early-completion: no reassignment completes before its targets are in sync."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
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
    Quorum,
    Reassign,
    Scenario,
    Scope,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    WipeDisk,
    broker,
)

SCENARIO = Scenario(
    summary="Reassign a partition to two brokers of which one is down, then wipe the other one's disk.",
    why=(
        "Up to 3.7 only added brokers must be in sync for a reassignment to complete. A reassignment that "
        "removes a replica and adds none completes at once, and the replica that was in sync is deleted."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(300)),
            Inject("third", Stop(broker(3))),
            Await(InSync("log-0", 0, (broker(1), broker(2)))),
            Perform(Reassign((("log-0", 0, (2, 3)),)), expect=(ErrorCode.NONE,)),
            Pass(8_000),
            Inject("second", WipeDisk(broker(2), scope=Scope.TOPIC, topic="log-0")),
            Pass(5_500),
            Heal("second"),
            Pass(4_000),
            Heal("third"),
            Await(InSync("log-0", 0, (broker(2), broker(3))), within_ms=60_000),
            Await(NothingMoves()),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, quorum=Quorum.STATIC),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    kafka_version="3.9.0",
    assumptions=Assumptions(invoked_during=5, why_lowered="while two of three are down little can be sent"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("reassignment-premature", "lost-write", "known-gap"),
            before="3.8.0",
            why="KAFKA-15665: fixed in 3.8.0",
        ),
    ),
    ticket="KAFKA-15665",
)
