"""regressions/kafka-19192-old-bootstrap-file: a cluster that began with old metadata can be upgraded."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Topology,
    UpdateFeature,
    Upgrade,
    Validity,
    VotersCaughtUp,
    controller,
)
from scenarios.upgrading import HELD, OLDEST

OLD_LEVEL = 6
"""metadata.version 3.3-IV2; Kafka 4.0.0 knows no level below 7."""

SCENARIO = Scenario(
    summary="Format with metadata.version 3.3-IV2, raise it to that of 3.9, and upgrade a controller.",
    why=(
        "bootstrap.checkpoint keeps the metadata.version that a disk was formatted with. It is needed only "
        "while the metadata log is empty. Kafka 4.0.0 reads it at every start and refuses old versions, so "
        "the node does not start, although metadata.version was raised before the upgrade."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Perform(UpdateFeature("metadata.version"), expect=(ErrorCode.NONE,), until_ms=30_000),
            # No version since 4.0.0 reads the old level in the log itself: a later snapshot must replace it.
            Pass(8_000),
            Inject("upgrade", Upgrade(controller(1))),
            Heal("upgrade"),
            Await(LeadsQuorum()),
            Await(VotersCaughtUp(), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=2,
        quorum=Quorum.STATIC,
        features={"metadata.version": OLD_LEVEL},
        config={"metadata.log.max.snapshot.interval.ms": "2000"},
        start_version=OLDEST,
    ),
    workload=LogWorkload(rate=100, producers=2, partitions=2, replication_factor=2, min_insync_replicas=1),
    kafka_version="4.1.1",
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("node-died",),
            before="4.0.1",
            start_before="4.0.0",
            why="KAFKA-19192: fixed in 4.0.1",
        ),
    ),
    assumptions=HELD,
    ticket="KAFKA-19192",
)
