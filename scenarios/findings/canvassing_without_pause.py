"""findings/canvassing-without-pause: a voter asks one with a new disk for its vote, as fast as it can."""

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
    WipeDisk,
    controllers,
)
from scenarios.quorum import joined

_C = controllers(3)

SCENARIO = Scenario(
    summary="Kill the leader of three while another voter comes back with a new disk.",
    why=(
        "The third voter can't be elected without the vote of the one that now has a new directory id. That "
        "one refuses each request for its vote. A candidate that was refused must wait before it asks again."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            Await(LeadsQuorum(_C[0])),
            Await(Acknowledged(100)),
            Inject("disk", WipeDisk(_C[1])),
            Inject("leader", Kill(_C[0])),
            Heal("disk"),
            Pass(20_000),
            Heal("leader"),
            Await(LeadsQuorum()),
            Await(IsObserver(_C[1])),
            Await(Acknowledged(100)),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
