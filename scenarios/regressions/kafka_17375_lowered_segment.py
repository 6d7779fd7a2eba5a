"""regressions/kafka-17375-lowered-segment: a follower catches up after segment.bytes was lowered.

A follower appends all that a fetch brought it at once, and up to 4.4 it refuses what is larger than
segment.bytes.  That was accepted under the old limit, and is in a segment of the old size, so that the leader
sends it as a whole.  The follower counts the partition as failed and does not try again.
"""

from harness.vocabulary import (
    Acknowledged,
    AlterTopic,
    Assumptions,
    Await,
    BulkWorkload,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary="Stop a follower, write megabytes, lower segment.bytes to 1 MiB, and start the follower.",
    why=(
        "The limit is meant for what clients send. A follower can't choose how much of the leader's log is "
        "in one batch or one response, and must append what was acknowledged."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(20_000)),
            Inject("follower", Stop(broker(3))),
            Await(InSync("bulk-0", 0, (broker(1), broker(2)))),
            # A record takes more than 20 bytes.
            Await(Acknowledged(150_000), within_ms=60_000),
            Perform(AlterTopic("bulk-0", "segment.bytes", "1048576"), expect=(ErrorCode.NONE,)),
            Heal("follower"),
            Pass(8_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=1,
        brokers=3,
        # The default, 1 MiB, is the smallest limit of a segment, so that only a larger batch would exceed it.
        config={"replica.fetch.max.bytes": "8388608"},
    ),
    workload=BulkWorkload(assignments=((1, 2, 3),), rate=15_000, writers=1),
    assumptions=Assumptions(recovery_ms=20_000, why_lowered="the follower catches up in seconds or never"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("fetcher-stopped", "not-recovered"),
            before="4.5.0",
            why="KAFKA-17375: the fix was merged for 4.5",
        ),
    ),
    ticket="KAFKA-17375",
)
