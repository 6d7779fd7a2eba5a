"""exploratory/chaos: random faults of every kind, drawn from the seed."""

from harness.vocabulary import RandomSchedule, Scenario

SCENARIO = Scenario(
    summary="Partitions of every pattern, kills, pauses and clean stops at random, sometimes two at once.",
    why=(
        "A drawn schedule reaches combinations that nobody writes down, such as a leader that is killed "
        "while its successor is cut off."
    ),
    schedule=RandomSchedule(duration_ms=60_000),
)
