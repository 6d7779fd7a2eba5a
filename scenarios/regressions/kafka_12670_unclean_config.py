"""regressions/kafka-12670-unclean-config: unclean.leader.election.enable is honoured."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    Expectation,
    Heal,
    Inject,
    InSync,
    Kill,
    LeaderIs,
    LogWorkload,
    Mode,
    Pass,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary="Make a lagging replica the only live one of a topic that permits unclean elections.",
    why=(
        "Up to 3.8 KRaft controllers accept the configuration and ignore it. A partition whose last in-sync "
        "replica is lost stays offline, although its owner chose availability."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Inject("follower", Kill(broker(2))),
            Await(InSync("log-0", 0, (broker(1),))),
            Await(Acknowledged(100)),
            Inject("leader", Kill(broker(1))),
            Pass(5_500),
            Heal("follower"),
            Await(LeaderIs("log-0", 0, broker(2))),
            Pass(5_000),
            Heal("leader"),
            Await(InSync("log-0", 0, (broker(1), broker(2)))),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=1,
        brokers=2,
        quorum=Quorum.STATIC,
        config={"unclean.leader.election.enable": "true"},
    ),
    workload=LogWorkload(assignments=((1, 2), (1, 2)), min_insync_replicas=1, rate=100, producers=2),
    kafka_version="3.9.0",
    assumptions=Assumptions(invoked_during=5, why_lowered="while both replicas are down little can be sent"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("election-withheld",),
            before="3.9.0",
            why="KAFKA-12670: KRaft honours the configuration since 3.9.0",
        ),
    ),
    ticket="KAFKA-12670",
)
