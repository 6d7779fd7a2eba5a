"""disks/replaced-during-reassignment: source and target of a move get new disks while it goes on."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    Moves,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    Topology,
    WipeDisk,
    brokers,
)

_B = brokers(4)

SCENARIO = Scenario(
    summary=(
        "Reassign partitions to a broker whose disk is being replaced, then replace the leader's as well."
    ),
    why=(
        "During a reassignment a partition has more replicas than copies. A replica that comes back empty, "
        "whether added or removed, must not count as in sync before it has copied everything. Until then the "
        "reassignment must not count as complete."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200), within_ms=60_000),
            Inject("target", WipeDisk(_B[3])),
            Perform(Reassign((("log-0", 0, (4, 2, 3)), ("log-0", 1, (4, 1)))), expect=(ErrorCode.NONE,)),
            Await(Moves("log-0", 0)),
            Await(Moves("log-0", 1)),
            Inject("source", WipeDisk(_B[0])),
            Await(InSync("log-0", 0, _B[1:3])),
            Await(Acknowledged(100)),
            Heal("source"),
            Await(InSync("log-0", 0, _B[:3]), within_ms=60_000),
            Await(Moves("log-0", 0)),
            Heal("target"),
            Await(NothingMoves(), within_ms=60_000),
            Await(ReplicasAre("log-0", 0, (_B[3], _B[1], _B[2]))),
            Await(ReplicasAre("log-0", 1, (_B[3], _B[0]))),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (2, 3, 1)), rate=100, producers=2),
    versions_min="3.9.0",
    ticket="KIP-455, KIP-858",
)
