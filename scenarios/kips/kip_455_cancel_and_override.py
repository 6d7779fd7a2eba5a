"""kips/kip-455-cancel-and-override: moves that can't end are cancelled, overridden and taken up again."""

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
    Partition,
    Pass,
    Pattern,
    Perform,
    Reassign,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    Topology,
    brokers,
)

_B = brokers(4)

SCENARIO = Scenario(
    summary=(
        "Shrink; then cancel one reassignment midway and override two others while the target is cut off."
    ),
    why=(
        "A second request starts from replicas that the first one has changed in part. The right replicas "
        "must be restored, removed or kept, although the target is cut off and still follows the first "
        "request."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200), within_ms=60_000),
            Perform(Reassign((("log-0", 1, (1, 2)),)), expect=(ErrorCode.NONE,)),
            Await(ReplicasAre("log-0", 1, _B[:2])),
            Inject("target", Partition(Pattern.ISOLATE_ONE, _B[3])),
            Perform(
                Reassign((("log-0", 0, (4, 2, 3)), ("log-0", 1, (1, 2, 4)), ("log-0", 2, (4, 3)))),
                expect=(ErrorCode.NONE,),
            ),
            *(Await(Moves("log-0", number)) for number in range(3)),
            Await(Acknowledged(100)),
            Perform(Reassign((("log-0", 0, None),)), expect=(ErrorCode.NONE,)),
            # Those that were there, but as the first request had put them: its order is not taken back.
            Await(ReplicasAre("log-0", 0, (_B[1], _B[2], _B[0]))),
            # A request that adds no replica would not take the cut-off broker back:
            # findings/reassignment-without-end.
            Perform(Reassign((("log-0", 1, (3, 2)), ("log-0", 2, (4, 1, 2)))), expect=(ErrorCode.NONE,)),
            Await(ReplicasAre("log-0", 1, (_B[2], _B[1]))),
            Await(Moves("log-0", 2)),
            Heal("target"),
            Await(ReplicasAre("log-0", 2, (_B[3], _B[0], _B[1])), within_ms=60_000),
            Await(NothingMoves()),
            Perform(Reassign((("log-0", 0, (4, 2, 3)), ("log-0", 1, (3, 4, 1)))), expect=(ErrorCode.NONE,)),
            Await(ReplicasAre("log-0", 0, _B[3:] + _B[1:3]), within_ms=60_000),
            Await(InSync("log-0", 1, (_B[0], _B[2], _B[3])), within_ms=60_000),
            Await(NothingMoves()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    ticket="KIP-455",
)
