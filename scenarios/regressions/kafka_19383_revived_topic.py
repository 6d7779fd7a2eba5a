"""regressions/kafka-19383-revived-topic: a broker that lags learns of deletions and of cleared ELRs at once.

A new default of min.insync.replicas clears the eligible replicas of all topics (KIP-966).  A broker applies
all records that it missed as one delta.  In 4.0.0 the clearing creates a change for every topic that the
broker had before, also for those that earlier records of the same delta delete.  Changes are applied after
deletions, so the topics are back.
"""

from harness.vocabulary import (
    AlterBrokers,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    MetadataWorkload,
    Mode,
    Pass,
    Pause,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary="Pause a broker while topics are deleted, and then min.insync.replicas is set for all brokers.",
    why=(
        "The broker reads the deletions and the record that clears all ELRs in one go. It must not keep the "
        "deleted topics: no later record removes them, so it would report them until it restarts."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Pass(8_000),
            Inject("lagging", Pause(broker(3))),
            # The oldest topics are deleted, and none that is created meanwhile (KAFKA-19497).
            Pass(7_000),
            Perform(AlterBrokers("min.insync.replicas", "1"), expect=(ErrorCode.NONE,)),
            Heal("lagging"),
            Pass(5_000),
        ),
        duration_ms=21_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED, controllers=1, brokers=3, features={"eligible.leader.replicas.version": 1}
    ),
    # No name is used again: a broker may report the old or the new topic of a name.
    workload=MetadataWorkload(
        assignments=((1, 2, 3), (2, 1, 3)), topic_rate=6, topics_kept=12, recreated_share=0.0
    ),
    kafka_version="4.1.1",
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("resurrected-topic", "listed-against-log", "divergent-metadata"),
            before="4.0.1",
            why="KAFKA-19383: fixed in 4.0.1",
        ),
    ),
    ticket="KAFKA-19383",
)
