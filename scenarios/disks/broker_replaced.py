"""disks/broker-replaced: a follower's disk is replaced, and then the leader's."""

from harness.vocabulary import (
    Acknowledged,
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
    Pass,
    Perform,
    Scenario,
    Scope,
    ScriptedSchedule,
    Topology,
    WipeDisk,
    broker,
    brokers,
)

_ALL = brokers(3)

SCENARIO = Scenario(
    summary="Replace a broker's disk by a new one, and the next broker's once the first has caught up.",
    why=(
        "A broker that returns with a new directory and an empty log must not count as in sync before it has "
        "copied everything. Otherwise the second replacement removes the last copy."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Inject("follower", WipeDisk(broker(2))),
            Pass(5_500),
            Heal("follower"),
            Await(InSync("log-0", 0, _ALL), within_ms=60_000),
            Await(Acknowledged(100)),
            Inject("leader", WipeDisk(broker(1), scope=Scope.KEEP_META, by="stop")),
            Pass(5_500),
            Heal("leader"),
            Await(InSync("log-0", 0, _ALL), within_ms=60_000),
            Perform(
                ElectLeaders(ElectionType.PREFERRED, (("log-0", 0),)),
                expect=(ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED),
                until_ms=10_000,
            ),
            Await(LeaderIs("log-0", 0, broker(1))),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    versions_min="3.9.0",
    ticket="KIP-858",
)
