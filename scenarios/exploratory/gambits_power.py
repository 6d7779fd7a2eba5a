"""exploratory/gambits-power: the voters lose power right after they acknowledged a change."""

from harness.vocabulary import DiskKind, Mode, Quorum, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="A majority of the voters loses power within 100 ms of an acknowledged change, again and again.",
    why=(
        "A metadata change is acknowledged once a majority has it on disk, so a loss of power must lose "
        "none. If a voter forgets its vote, two leaders can be elected."
    ),
    schedule=mostly_gambits(
        {
            "voters-power": 5,
            "lagging-candidate": 3,
            "colliding-elections": 1,
            "cut-off-controller": 1,
            "flapping": 1,
        },
        operations={},
        change_gap_ms=(1_000, 4_000),
    ),
    # In a dynamic quorum a young broker does not survive a loss of power: findings/power-loss-of-an-observer.
    topology=Topology(mode=Mode.ISOLATED, disk=DiskKind.LOOP_EXT4, quorum=Quorum.STATIC),
    versions_min="3.9.0",
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-595, KIP-631",
)
