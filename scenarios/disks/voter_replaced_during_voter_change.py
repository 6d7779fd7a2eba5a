"""disks/voter-replaced-during-voter-change: a voter's disk goes while its removal is not committed."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    VotersCaughtUp,
    WipeDisk,
    controllers,
)
from scenarios.quorum import added, cut_off, removed

_C = controllers(4)

SCENARIO = Scenario(
    summary=(
        "Add a voter, and replace another's disk while the leader is cut off and can't commit its removal."
    ),
    why=(
        "Until another voter leads, it is open whether the removal happened. If it did, two of three are a "
        "majority; if it did not, three of four are. In both cases the voter with the empty disk must not be "
        "counted."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Await(IsObserver(_C[3])),
            *added(_C[3], _C),
            Await(LeadsQuorum()),
            Inject("leader", cut_off(Target.ACTIVE_CONTROLLER)),
            Perform(RemoveVoter(_C[2]), background=True, timeout_ms=5_000),
            Inject("disk", WipeDisk(_C[2])),
            Heal("leader"),
            Await(LeadsQuorum()),
            *removed(_C[2], (_C[0], _C[1], _C[3])),
            Await(Acknowledged(100)),
            Heal("disk"),
            Await(IsObserver(_C[2]), within_ms=60_000),
            *added(_C[2], _C),
            Await(VotersCaughtUp()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2, initial_voters=3),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
