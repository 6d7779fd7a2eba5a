"""regressions/kafka-14616-recreated-topic: a broker has the replicas of topics recreated while it was down.

At its start a broker of 3.6 first applies the metadata, and then deletes the logs of topics that are gone.
The new topic can't have its log while the folder of the old one is there, so its partition is set aside as
failed.  Then the deletion takes the partition away.  From 3.7 on stray logs are set aside before that.
"""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    MetadataWorkload,
    Mode,
    Scenario,
    Step,
    Stop,
    Topology,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary="Stop one of two brokers while topics are deleted and created again with the same names.",
    why=(
        "The broker that starts has logs of the deleted topics, in folders with the names that the logs of "
        "the new topics need. It must remove the old logs and create the new ones."
    ),
    schedule=FixedSchedule(steps=(Step(28_000, 8_000, Stop(broker(2))),), duration_ms=52_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=2),
    # With two brokers every topic has a replica on the one that is down. A topic lives for half a minute: it
    # must exist when that one stops, and its successor still when the disks are read.
    workload=MetadataWorkload(
        replication_factor=2, min_insync_replicas=1, topics_kept=30, recreated_share=1.0
    ),
    kafka_version="3.7.1",
    expectations=(
        Expectation(
            Validity.INVALID, ("missing-replica",), before="3.7.0", why="KAFKA-14616: fixed in 3.7.0"
        ),
    ),
    ticket="KAFKA-14616",
)
