"""regressions/kafka-20742-added-partitions: a share group must read added partitions from their beginning.

KAFKA-20742: the group coordinator initialises a partition that was added to a subscribed topic with the start
offset -1 (``GroupMetadataManager.buildInitializeShareGroupStateRequest``).  The partition's leader takes that
for undecided and uses ``share.auto.offset.reset``, whose default is ``latest``
(``SharePartition.startOffsetDuringInitialization``).  So what was written before that is skipped.  From 4.4.0
on, partitions that are added to a topic that the group knows start at offset 0.
"""

from harness.vocabulary import (
    Acknowledged,
    AddPartitions,
    AlterGroup,
    Await,
    ErrorCode,
    Expectation,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Topology,
    Validity,
)
from scenarios.sharing import share_brokers

WORKLOAD = ShareWorkload(rate=20)
SCENARIO = Scenario(
    summary="Add partitions to a topic that a share group reads, whose share.auto.offset.reset is latest.",
    why=(
        "The reset strategy is for a group that begins to read a topic. Before 4.4.0 it also decides where "
        "the group begins in a partition that is added while it reads. Records that were written there "
        "before the group knew the partition are never delivered."
    ),
    schedule=ScriptedSchedule(
        moves=(
            # Meanwhile the group begins in the first partitions, at the start of the log.
            Await(Acknowledged(1_000), within_ms=60_000),
            Pass(10_000),
            Perform(
                AlterGroup(WORKLOAD.groups[0], "share.auto.offset.reset", "latest"),
                expect=(ErrorCode.NONE,),
                until_ms=10_000,
            ),
            Pass(2_000),
            Perform(AddPartitions(6), expect=(ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS), until_ms=10_000),
            Await(Acknowledged(1_000)),
            Pass(15_000),
            Await(Acknowledged(500)),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=share_brokers(WORKLOAD)),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID, ("share-undelivered",), before="4.4.0", why="KAFKA-20742: fixed in 4.4.0"
        ),
    ),
    ticket="KAFKA-20742",
)
