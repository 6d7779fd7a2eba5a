"""exploratory/bulk: the chaos schedule under tens of thousands of records a second."""

from harness.vocabulary import BulkWorkload, RandomSchedule, Scenario

SCENARIO = Scenario(
    summary="60,000 records a second from two processes, under partitions, kills, pauses and stops.",
    why=(
        "Replicas lag by thousands of records when a leader is lost. So there are always records, and state "
        "of producers, that a new leader must keep, truncate or take over."
    ),
    schedule=RandomSchedule(duration_ms=40_000, changes={"alter": 1}),
    workload=BulkWorkload(),
    ticket="KIP-98, KIP-101, KIP-279",
)
