"""regressions/kafka-19975-blocked-by-dead-replica: reassignments don't wait for untouched replicas."""

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
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    brokers,
)

_B = brokers(4)

SCENARIO = Scenario(
    summary="Stop a replica, add a fourth replica to one partition, and replace another replica of a second.",
    why=(
        "The stopped replica is neither added nor removed. From 3.8.0 on, before 4.3.0, both reassignments "
        "wait for it although the added replicas are in sync. So a broker can't be replaced while another "
        "one is down."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200), within_ms=60_000),
            Inject("third", Stop(_B[2])),
            Await(InSync("log-0", 0, _B[:2])),
            Await(InSync("log-0", 1, _B[:2])),
            Perform(
                Reassign((("log-0", 0, (1, 2, 3, 4)), ("log-0", 1, (4, 2, 3)))), expect=(ErrorCode.NONE,)
            ),
            Await(InSync("log-0", 0, (_B[0], _B[1], _B[3])), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(5_000),
            Heal("third"),
            Await(InSync("log-0", 0, _B), within_ms=60_000),
            Await(InSync("log-0", 1, _B[1:]), within_ms=60_000),
            Await(NothingMoves()),
            Await(ReplicasAre("log-0", 1, (_B[3], _B[1], _B[2]))),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=35_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    expectations=(
        Expectation(
            Validity.VALID, before="3.8.0", why="up to 3.7 only added replicas had to be in sync: KAFKA-15665"
        ),
        Expectation(
            Validity.INVALID, ("reassignment-held-up",), before="4.3.0", why="KAFKA-19975: fixed in 4.3.0"
        ),
    ),
    ticket="KAFKA-19975",
)
