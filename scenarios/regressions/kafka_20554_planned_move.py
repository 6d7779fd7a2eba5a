"""regressions/kafka-20554-planned-move: with acks=1 a planned move of a leader loses acknowledged records.

Kafka's developers call this expected (KAFKA-20554, PR 22233): a leader acknowledges a record with acks=1 as
soon as its own log has it.  The next leader is in sync, but need not have fetched the record, and the former
leader truncates what the next one lacks.  The losses are legal; the report names their licence.
"""

from harness.vocabulary import (
    Acknowledged,
    Among,
    Await,
    ElectionType,
    ElectLeaders,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    LeaderIs,
    LogWorkload,
    Mode,
    NothingMoves,
    Partition,
    Pass,
    Pattern,
    Perform,
    Reassign,
    Scenario,
    ScriptedSchedule,
    Topology,
    broker,
)

_BOTH = (broker(1), broker(2))
_NUMBERS = (0, 1)

SCENARIO = Scenario(
    summary="Write with acks=1, cut the follower off from its leader, and elect it while it is in sync.",
    why=(
        "A follower stays in sync for six seconds without a fetch. Elected in this time, it lacks what its "
        "leader acknowledged alone, and nothing but acks=1 permits that the records are truncated."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Perform(
                Reassign(tuple(("log-0", number, (2, 1)) for number in _NUMBERS)), expect=(ErrorCode.NONE,)
            ),
            Await(NothingMoves()),
            Await(InSync("log-0", 0, _BOTH)),
            Inject("cut", Partition(Pattern.LINK, broker(1), among=Among.BROKERS)),
            Pass(1_500),
            Perform(
                ElectLeaders(ElectionType.PREFERRED, tuple(("log-0", number) for number in _NUMBERS)),
                expect=(ErrorCode.NONE,),
            ),
            Await(LeaderIs("log-0", 0, broker(2))),
            Heal("cut"),
            Await(InSync("log-0", 0, _BOTH), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=25_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=2),
    workload=LogWorkload(
        assignments=((1, 2), (1, 2)),
        min_insync_replicas=1,
        rate=100,
        producers=2,
        acks="1",
        idempotent=False,
    ),
    ticket="KAFKA-20554",
)
