"""regressions/kafka-19274-deleted-offsets: who coordinated groups stops when their partitions are deleted.

KAFKA-19274: when ``__consumer_offsets`` is deleted, the leaders of its partitions unload their coordinators,
with the leader epoch of the deleted partition (``BrokerMetadataPublisher.updateCoordinator``).  A coordinator
ignores an epoch that is not above its own (``CoordinatorRuntime.scheduleUnloadOperation``), and a deletion
does not raise it.  Nor does the topic that is created next, whose epochs begin at 0 again.  So a broker goes
on to answer for groups that another one coordinates.
"""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Mode,
    Scenario,
    Script,
    ScriptedTransactions,
    Topology,
    Validity,
)

SCENARIO = Scenario(
    summary="Delete the topic of committed offsets, and let the same groups commit to its successor.",
    why=(
        "A group has one coordinator. A broker that still acts as one after its partition was deleted "
        "returns offsets that are deleted, and does not see what the next coordinator acknowledges."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=30_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, config={"offsets.topic.num.partitions": "12"}),
    workload=ScriptedTransactions(script=Script.DELETED_OFFSETS, rate=100),
    kafka_version="4.1.1",
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID, ("two-coordinators",), before="4.0.1", why="KAFKA-19274: fixed in 4.0.1"
        ),
    ),
    ticket="KAFKA-19274",
)
