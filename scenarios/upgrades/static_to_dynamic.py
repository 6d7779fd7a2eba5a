"""upgrades/static-to-dynamic: a static quorum of 3.9.0 is upgraded, and then becomes a dynamic one."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Await,
    ErrorCode,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
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
)
from scenarios.upgrading import BROKERS, CONTROLLERS, HELD, LOAD, OLDEST, WHOLE, changed, raised

_LEAVING = CONTROLLERS[2]

SCENARIO = Scenario(
    summary="Upgrade a static quorum from 3.9.0, raise kraft.version to 1, then remove a voter and add it.",
    why=(
        "An upgraded cluster has disks and properties of a static quorum. The first set of voters in its log "
        "is made from them, with the directory ids that 3.9.0 gave the disks."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *WHOLE,
            *changed(*CONTROLLERS, *BROKERS),
            *raised("metadata.version"),
            Perform(RemoveVoter(_LEAVING), expect=(ErrorCode.UNSUPPORTED_VERSION,)),
            Perform(UpdateFeature("kraft.version", 1), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(Acknowledged(40), within_ms=30_000),
            Inject("follower", Stop(_LEAVING)),
            Pass(5_500),
            Heal("follower"),
            Await(VotersAre(CONTROLLERS)),
            Perform(RemoveVoter(_LEAVING), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(VotersAre(CONTROLLERS[:2])),
            Await(IsObserver(_LEAVING)),
            Perform(AddVoter(_LEAVING), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(VotersAre(CONTROLLERS)),
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=100_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, quorum=Quorum.STATIC, start_version=OLDEST),
    workload=LOAD,
    assumptions=HELD,
    versions_min="4.1.0",
    ticket="KIP-853",
)
