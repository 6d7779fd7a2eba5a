"""exploratory/gambits-operations: registrations, cordoned directories and feature levels change."""

from harness.vocabulary import Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="Nodes are unregistered, directories cordoned, features lowered; controllers fail meanwhile.",
    why=(
        "A new controller must know from the log alone which nodes are registered, where replicas may be "
        "placed and which features are on, also if its predecessor failed while it changed that."
    ),
    schedule=mostly_gambits(
        {
            "unregistered-broker": 4,
            "unregistered-controller": 2,
            "cordoned-broker": 4,
            "lowered-feature": 3,
            "isr-and-controller": 1,
            "cut-off-controller": 1,
        },
        operations={"elect-preferred": 1},
    ),
    topology=Topology(mode=Mode.ISOLATED, brokers=4),
    versions_min="4.4.0",
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-500, KIP-584, KIP-1066, KIP-1312",
)
