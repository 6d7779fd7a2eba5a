"""regressions/kafka-19850-auto-join: a removed controller joins again where that is configured."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Topology,
    VotersAre,
    controllers,
)

_C = controllers(3)

SCENARIO = Scenario(
    summary="Remove a follower and then the leader while controllers join by themselves.",
    why=(
        "With controller.quorum.auto.join.enable, a controller that was removed and still runs is a voter "
        "again within seconds. The set of voters changes although nobody asked for it."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Perform(RemoveVoter(_C[2]), expect=(ErrorCode.NONE,)),
            Await(VotersAre(_C)),
            Await(Acknowledged(100)),
            Inject("follower", Kill(_C[1])),
            Pass(5_500),
            Heal("follower"),
            Await(LeadsQuorum()),
            Perform(RemoveVoter(), expect=(ErrorCode.NONE,), until_ms=20_000),
            Await(VotersAre(_C)),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=40_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=2,
        node_config={f"c{number}": {"controller.quorum.auto.join.enable": "true"} for number in (1, 2, 3)},
    ),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="4.2.0",
    ticket="KAFKA-19850",
)
