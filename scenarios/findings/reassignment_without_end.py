"""findings/reassignment-without-end: an added replica is taken back before it was in sync."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    Moves,
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
    summary="Add a broker that is down to a partition's replicas, then ask for the original replicas again.",
    why=(
        "The second request adds no replica, so its record keeps the added broker among the adding replicas "
        "and also lists it for removal. The reassignment waits for a broker that must be in sync and must "
        "not be counted."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Inject("target", Stop(_B[3])),
            Perform(Reassign((("log-0", 0, (1, 2, 3, 4)),)), expect=(ErrorCode.NONE,)),
            Await(Moves("log-0", 0)),
            Perform(Reassign((("log-0", 0, (1, 2, 3)),)), expect=(ErrorCode.NONE,)),
            Heal("target"),
            Await(InSync("log-0", 0, _B), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=25_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (2, 3, 4)), rate=100, producers=2),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("reassignment-without-end",),
            why="the second request is acknowledged, but the reassignment never completes",
        ),
    ),
    ticket="KIP-455",
)
