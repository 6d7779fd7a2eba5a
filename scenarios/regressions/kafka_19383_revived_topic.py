"""regressions/kafka-19383-revived-topic: a broker that lags learns of deletions and of cleared ELRs at once.

A new default of min.insync.replicas clears the eligible replicas of all topics (KIP-966).  A broker applies
all records that it missed as one delta.  In 4.0.0 the clearing creates a change for every topic that the
broker had before, also for those that earlier records of the same delta delete.  Changes are applied after
deletions, so the topics are back.
"""

from harness.vocabulary import Expectation, Scenario, Validity
from scenarios.lagging import TOPOLOGY, lagging_while_elrs_are_cleared, topics_pass

SCENARIO = Scenario(
    summary="Pause a broker while topics are deleted, and then min.insync.replicas is set for all brokers.",
    why=(
        "The broker applies the deletions and the record that clears all ELRs as one delta. It must not keep "
        "the deleted topics: no later record removes them, so it would report them until it restarts."
    ),
    # The oldest topics are deleted, and none that is created meanwhile (KAFKA-19497).
    schedule=lagging_while_elrs_are_cleared(7_000),
    topology=TOPOLOGY,
    workload=topics_pass(12),
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
