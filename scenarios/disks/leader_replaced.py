"""disks/leader-replaced: the quorum's leader loses its disk, once with its identity and once without."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Await,
    ErrorCode,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    Scope,
    ScriptedSchedule,
    Target,
    Topology,
    VotersAre,
    VotersCaughtUp,
    WipeDisk,
    controllers,
)
from scenarios.quorum import removed

_C = controllers(3)


def _joined(newcomer: int) -> tuple[Await | Perform, ...]:
    """Wait for a controller to follow, and let it vote."""
    member = _C[newcomer]
    return (
        Await(IsObserver(member), within_ms=60_000),
        Perform(AddVoter(member), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=30_000),
    )


SCENARIO = Scenario(
    summary=(
        "Replace the disk of the quorum's leader, and empty the next leader's without a new directory id."
    ),
    why=(
        "The other voters must know what the leader had committed. Under a new directory id, an empty disk "
        "has no vote. With the old directory id the node votes before it knows anything; it may vote only "
        "for a candidate that has what was committed."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *_joined(1),
            *_joined(2),
            Await(VotersAre(_C)),
            Await(LeadsQuorum(_C[0])),
            Await(Acknowledged(100)),
            Inject("leader", WipeDisk(_C[0])),
            *removed(_C[0], _C[1:]),
            Heal("leader"),
            *_joined(0),
            Await(VotersAre(_C)),
            Await(VotersCaughtUp()),
            Await(Acknowledged(100)),
            Inject("next-leader", WipeDisk(Target.ACTIVE_CONTROLLER, scope=Scope.KEEP_META)),
            Await(LeadsQuorum()),
            Heal("next-leader"),
            Await(VotersCaughtUp(), within_ms=60_000),
            Await(VotersAre(_C)),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
