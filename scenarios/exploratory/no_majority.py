"""exploratory/no-majority: the quorum loses its majority again and again, and gets it back."""

from harness.vocabulary import Majority, Mode, RandomSchedule, Scenario, Topology
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="Two of three controllers at a time are killed, frozen or cut off; later they come back.",
    why=(
        "Without a majority nothing may be decided, and what was decided before must be there when the "
        "majority is back. Until then no metadata change has to be answered, but all safety guarantees hold."
    ),
    schedule=RandomSchedule(
        duration_ms=45_000,
        kinds=("partition", "kill", "pause"),
        gap_ms=(4_000, 7_000),
        majority=Majority.LOST,
        operations={"elect-preferred": 1, "elect-unclean": 1, "reassign": 2},
        changes={"alter": 1},
        # No operations_min: without a majority none is promised to be answered.
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=3),
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-595, KIP-996",
)
