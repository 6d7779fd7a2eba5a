"""exploratory/gambits-features: feature levels are lowered and raised, or must not be, under load."""

from harness.vocabulary import Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Lower levels of features are requested and refused or made; controllers and leaders fail.",
    why=(
        "A new controller must know from the log alone which levels its predecessor accepted. A defect here "
        "accepts a level that deletes metadata, or leaves nodes with different levels."
    ),
    # Without blinks: no fault may begin while all nodes must report a level.
    schedule=mostly_gambits(
        {"refused-downgrade": 6, "isr-and-controller": 1, "colliding-elections": 1, "rolling-bounce": 1},
        blinks={},
    ),
    topology=Topology(mode=Mode.ISOLATED),
    # Before, a lower metadata.version may be accepted, and no gambit raises it again.
    versions_min="4.3.0",
    ticket="KIP-584, KIP-778, KIP-1022",
)
