"""kips/kip-853-old-disk: a voter that was removed while it was down comes back with its old disk."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Heal,
    Inject,
    IsObserver,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Scenario,
    ScriptedSchedule,
    Topology,
    controllers,
)
from scenarios.quorum import added, removed

_C = controllers(4)

SCENARIO = Scenario(
    summary="Remove a voter that is down, start it on its old disk, and add it again.",
    why=(
        "By its own log, the removed controller is still a voter. Until it has fetched its removal, it may "
        "become a candidate, and its votes must not count."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Await(LeadsQuorum()),
            Inject("down", Kill(_C[3])),
            *removed(_C[3], _C[:3]),
            Await(Acknowledged(100)),
            Heal("down"),
            Await(IsObserver(_C[3]), within_ms=60_000),
            *added(_C[3], _C),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=40_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
