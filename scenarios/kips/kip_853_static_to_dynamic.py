"""kips/kip-853-static-to-dynamic: a static quorum becomes a dynamic one, and then changes its voters."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Quorum,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    UpdateFeature,
    VotersAre,
    controllers,
)

_C = controllers(3)

SCENARIO = Scenario(
    summary="Raise kraft.version from 0 to 1 on a static quorum, under load, and remove a voter.",
    why=(
        "The set of voters moves from every node's configuration into the log. Before that it can't be "
        "changed at all; afterwards the configuration must no longer count."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Perform(RemoveVoter(_C[2]), expect=(ErrorCode.UNSUPPORTED_VERSION,)),
            Perform(UpdateFeature("kraft.version", 1), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(Acknowledged(100)),
            Inject("follower", Stop(_C[2])),
            Pass(5_500),
            Heal("follower"),
            Await(VotersAre(_C)),
            Perform(RemoveVoter(_C[2]), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(VotersAre(_C[:2])),
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=40_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, quorum=Quorum.STATIC),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="4.1.0",
    ticket="KIP-853",
)
