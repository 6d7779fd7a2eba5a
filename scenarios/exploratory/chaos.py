"""exploratory/chaos: random faults and admin operations of every kind, drawn from the seed."""

from harness.vocabulary import RandomSchedule, Scenario, Topology

SCENARIO = Scenario(
    summary="Partitions, kills, pauses and stops at random, elections, reassignments and voters beside them.",
    why=(
        "A drawn schedule reaches combinations that nobody writes down, such as a leader that is killed "
        "while its successor is cut off, or a partition that moves while its controller is."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        operations={"elect-preferred": 3, "elect-unclean": 2, "reassign": 4, "cancel": 1, "voters": 3},
    ),
    topology=Topology(controllers=4, brokers=4, initial_voters=3),
    ticket="KIP-98, KIP-101, KIP-455, KIP-460, KIP-595, KIP-853",
)
