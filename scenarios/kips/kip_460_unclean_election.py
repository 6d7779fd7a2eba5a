"""kips/kip-460-unclean-election: what an unclean election may lose, and what it may not."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    ElectionType,
    ElectLeaders,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    Kill,
    LeaderIs,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    broker,
    brokers,
)

_WHERE = (("log-0", 0),)
_PREFERRED = ElectLeaders(ElectionType.PREFERRED, _WHERE)
_UNCLEAN = ElectLeaders(ElectionType.UNCLEAN, _WHERE)

SCENARIO = Scenario(
    summary="Elect a lagging replica uncleanly once the only one in sync is gone.",
    why=(
        "With min.insync.replicas=1 a lone leader acknowledges records that no other replica has. Kafka does "
        "not hold the election by itself, but an operator may ask for it. It costs exactly the records above "
        "the end of the elected replica's log. Consumers have read past that end, and continue with what is "
        "written after it."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Perform(_PREFERRED, expect=(ErrorCode.ELECTION_NOT_NEEDED,)),
            Perform(_UNCLEAN, expect=(ErrorCode.ELECTION_NOT_NEEDED,)),
            Inject("first-follower", Kill(broker(2))),
            Inject("second-follower", Kill(broker(3))),
            Await(InSync("log-0", 0, (broker(1),))),
            Await(Acknowledged(100)),
            Pass(2_000),
            Inject("leader", Kill(broker(1))),
            Heal("second-follower"),
            Await(LeaderIs("log-0", 0, None)),
            Perform(_PREFERRED, expect=(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,)),
            Perform(_UNCLEAN, expect=(ErrorCode.NONE,)),
            Await(LeaderIs("log-0", 0, broker(3))),
            Perform(_UNCLEAN, expect=(ErrorCode.ELECTION_NOT_NEEDED,)),
            Pass(5_000),
            Heal("leader"),
            Heal("first-follower"),
            Await(InSync("log-0", 0, brokers(3))),
            Perform(_PREFERRED, expect=(ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED), until_ms=10_000),
            Await(LeaderIs("log-0", 0, broker(1))),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), min_insync_replicas=1, rate=100, producers=2),
    assumptions=Assumptions(invoked_during=5, why_lowered="most of the time nobody leads"),
    ticket="KIP-460",
)
