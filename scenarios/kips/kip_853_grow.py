"""kips/kip-853-grow: one voter becomes three, then five, one at a time and under partitions."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Heal,
    Inject,
    LogWorkload,
    Mode,
    Pass,
    Scenario,
    ScriptedSchedule,
    Topology,
    controllers,
)
from scenarios.quorum import cut_off, joined

_C = controllers(5)

SCENARIO = Scenario(
    summary="Grow a standalone quorum to three and to five voters while controllers are cut off.",
    why=(
        "Every change moves the majority: a voter counts as soon as the record that adds it is appended. A "
        "cut at that moment shows whether the old and the new majority ever disagree about the leader."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            Inject("follower", cut_off(_C[2])),
            Pass(6_000),
            *joined(_C, 4),
            Heal("follower"),
            *joined(_C, 5),
            Await(Acknowledged(200)),
            Inject("newest", cut_off(_C[4])),
            Pass(6_000),
            Heal("newest"),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=5, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
