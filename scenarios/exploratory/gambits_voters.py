"""exploratory/gambits-voters: voters leave and join while the quorum's leader is taken away."""

from harness.vocabulary import Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="Voters leave, join, lose disks, two leave at once; leaders are lost and links lose packets.",
    why=(
        "A change of the voters counts as soon as it is in a log, and is undone if it is truncated. If a "
        "leader is lost in between, nodes may count votes by different sets of voters."
    ),
    schedule=mostly_gambits(
        {
            "departing-leader": 4,
            "overlapping-changes": 4,
            "uncommitted-voters": 3,
            "wiped-voter": 4,
            "lagging-candidate": 3,
            "cut-off-controller": 1,
            "colliding-elections": 1,
            "lossy-voters": 3,
            "unfinished-change": 5,
            "deaf-voter": 3,
            "flapping": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4),
    versions_min="3.9.0",
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-853, KIP-595",
)
