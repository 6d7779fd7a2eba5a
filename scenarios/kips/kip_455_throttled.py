"""kips/kip-455-throttled: a throttled move whose target is killed and whose source is cut off."""

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
_SLOW_BYTES_PER_S, _FAST_BYTES_PER_S = 100_000, 10_000_000

SCENARIO = Scenario(
    summary="Kill the target of throttled reassignments, cut their source off, and let them end without it.",
    why=(
        "The source is to be removed and leads. While it is cut off, it believes that it leads for as long "
        "as the reassignment takes. Its successor has to feed the target within the throttle, and the old "
        "leader must acknowledge nothing more."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200), within_ms=60_000),
            Inject("target", Kill(_B[3])),
            Perform(
                Reassign(
                    (("log-0", 0, (4, 2, 3)), ("log-0", 1, (2, 4)), ("log-0", 2, (2, 3, 4))),
                    throttle_bytes_per_s=_SLOW_BYTES_PER_S,
                ),
                expect=(ErrorCode.NONE,),
            ),
            *(Await(Moves("log-0", number)) for number in range(3)),
            Await(Acknowledged(100)),
            Inject("source", Partition(Pattern.ISOLATE_ONE, _B[0])),
            Await(InSync("log-0", 0, _B[1:3]), within_ms=60_000),
            Await(Acknowledged(100), within_ms=60_000),
            Heal("target"),
            Await(ReplicasAre("log-0", 0, (_B[3], _B[1], _B[2])), within_ms=60_000),
            Await(ReplicasAre("log-0", 1, (_B[1], _B[3])), within_ms=60_000),
            Await(NothingMoves(), within_ms=60_000),
            Heal("source"),
            Await(Acknowledged(200)),
            Perform(
                Reassign((("log-0", 0, (1, 2, 3)),), throttle_bytes_per_s=_FAST_BYTES_PER_S),
                expect=(ErrorCode.NONE,),
                until_ms=30_000,
            ),
            Await(ReplicasAre("log-0", 0, _B[:3]), within_ms=60_000),
            Await(InSync("log-0", 0, _B[:3])),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (1, 2, 3)), rate=100, producers=4),
    ticket="KIP-455",
)
