"""kips/kip-460-preferred-out-of-sync: a preferred election waits for the preferred replica to be in sync."""

from harness.vocabulary import (
    Acknowledged,
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

_ALL = brokers(3)
_ELECT = ElectLeaders(ElectionType.PREFERRED, (("log-0", 0),))

SCENARIO = Scenario(
    summary="Ask for the preferred leader while it is down, and again once it is in sync.",
    why=(
        "A preferred replica that leads before it has caught up would truncate what was acknowledged in its "
        "absence. The request must be refused until it is in sync, and neither answer may lose anything."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Inject("preferred", Kill(broker(1))),
            Await(InSync("log-0", 0, (broker(2), broker(3)))),
            Await(Acknowledged(100)),
            Perform(_ELECT, expect=(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,)),
            Pass(2_000),
            Heal("preferred"),
            Await(InSync("log-0", 0, _ALL)),
            Perform(_ELECT, expect=(ErrorCode.NONE,), until_ms=10_000),
            Await(LeaderIs("log-0", 0, broker(1))),
            Pass(3_000),
        ),
        duration_ms=35_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    # Leaders go back by themselves every five minutes, which no run here lasts.
    workload=LogWorkload(assignments=((1, 2, 3), (2, 3, 1)), rate=100, producers=2),
    ticket="KIP-460",
)
