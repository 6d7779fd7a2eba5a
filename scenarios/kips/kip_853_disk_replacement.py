"""kips/kip-853-disk-replacement: a voter gets a new disk: Remove the old directory, Add the new one."""

from harness.vocabulary import (
    Acknowledged,
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
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Topology,
    WipeDisk,
    controllers,
)
from scenarios.quorum import added

_C = controllers(3)

SCENARIO = Scenario(
    summary="Replace the disk of a voter, then of the next one.",
    why=(
        "A voter that comes back with an empty log may not vote, because it has forgotten what it knew. "
        "Directory ids distinguish the old disk from the new one. So the old one has to be removed and the "
        "new one added before the next disk is replaced."
    ),
    schedule=ScriptedSchedule(
        moves=tuple(
            move
            for number, member in enumerate(_C[1:], start=1)
            for move in (
                Inject(f"disk-{number}", WipeDisk(member)),
                Await(LeadsQuorum()),
                Perform(
                    RemoveVoter(member), expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND), until_ms=30_000
                ),
                Pass(5_500),
                Heal(f"disk-{number}"),
                Await(IsObserver(member)),
                *added(member, _C),
                Await(Acknowledged(200)),
            )
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
