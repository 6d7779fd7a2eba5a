"""findings/reassignment-to-all: a reassignment that is overridden by one that keeps every replica."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Expectation,
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
    Stop,
    Topology,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary=(
        "Reassign a partition to two brokers of which one is down, then to the old and new ones together."
    ),
    why=(
        "While the first request is in progress, the second neither adds nor removes a replica. But it must "
        "cancel the removals of the first."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100)),
            Inject("target", Stop(broker(1))),
            Perform(Reassign((("log-0", 0, (1, 3)),)), expect=(ErrorCode.NONE,)),
            Pass(1_000),
            Perform(Reassign((("log-0", 0, (2, 3, 1, 4)),)), expect=(ErrorCode.NONE,)),
            Pass(5_500),
            Heal("target"),
            Await(NothingMoves()),
            Await(Acknowledged(100)),
            Pass(3_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((2, 3, 4), (2, 3, 4)), rate=100, producers=2),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("reassignment-lost",),
            why="the second request is acknowledged, and the first is carried out",
        ),
    ),
    ticket="KIP-455",
)
