"""What scenarios may show that reassign partitions while the active controller loses its quorum."""

from harness.vocabulary import Expectation, Validity

LISTED_UNCOMMITTED = Expectation(
    Validity.VALID,
    ("reassignment-uncommitted",),
    why="findings/uncommitted-listing: a controller without a quorum lists a target that is not committed",
)
"""No other anomaly of reassignments: a listed target that no such request explains has another name."""
