"""kips/kip-455-move: partitions are moved, moved again and moved back while brokers go down."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    Kill,
    LogWorkload,
    Mode,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    Topology,
    brokers,
)

_B = brokers(4)
_SLOW_BYTES_PER_S = 20_000

SCENARIO = Scenario(
    summary="Move partitions under load: expand, move leaders, override, cancel, with brokers killed.",
    why=(
        "During a reassignment a partition has more replicas than it will keep. A replica that is removed "
        "too early or counted too late loses acknowledged records."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Perform(Reassign((("log-0", 0, (1, 2, 3, 4)),)), expect=(ErrorCode.NONE,)),
            Await(ReplicasAre("log-0", 0, _B)),
            Await(InSync("log-0", 0, _B)),
            Perform(Reassign((("log-0", 0, (2, 3, 4)), ("log-0", 1, (4, 3, 2)))), expect=(ErrorCode.NONE,)),
            Await(ReplicasAre("log-0", 0, _B[1:])),
            Inject("target", Kill(_B[0])),
            Perform(
                Reassign((("log-0", 2, (1, 2)),), throttle_bytes_per_s=_SLOW_BYTES_PER_S),
                expect=(ErrorCode.NONE,),
            ),
            Pass(5_500),
            Perform(Reassign((("log-0", 2, (4, 2)),)), expect=(ErrorCode.NONE,)),
            Perform(
                Reassign((("log-0", 2, None),)),
                expect=(ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
            ),
            Heal("target"),
            Perform(Reassign((("log-0", 0, (1, 2, 3)),)), expect=(ErrorCode.NONE,)),
            Inject("source", Kill(_B[3])),
            Pass(6_000),
            Heal("source"),
            Await(ReplicasAre("log-0", 0, _B[:3]), within_ms=45_000),
            Await(NothingMoves()),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (2, 3, 4)), rate=100, producers=2),
    ticket="KIP-455",
)
