"""regressions/kafka-19497-passing-topic: a broker that lags learns of a topic after its deletion.

A broker applies all records that it missed as one delta.  Up to 4.1 a delta does not forget a topic that it
creates and deletes.  If all ELRs are cleared after that (KIP-966), the fix of KAFKA-19383 looks for the topic
among those that were created, and the loader of the metadata fails with a NullPointerException.  The broker
loses all records of that delta.
"""

from harness.vocabulary import Assumptions, Expectation, Scenario, Validity
from scenarios.lagging import TOPOLOGY, lagging_while_elrs_are_cleared, topics_pass

SCENARIO = Scenario(
    summary=(
        "Pause a broker while topics are created and deleted, and then min.insync.replicas is set for all "
        "brokers."
    ),
    why=(
        "The broker applies the creations, the deletions and the record that clears all ELRs as one delta. "
        "If that fails, it does not try again: until it restarts, it lacks topics and partitions that later "
        "records change."
    ),
    # Longer than a topic lives.
    schedule=lagging_while_elrs_are_cleared(8_000),
    topology=TOPOLOGY,
    workload=topics_pass(3),
    kafka_version="4.3.1",
    versions_min="4.0.1",
    assumptions=Assumptions(recovery_ms=20_000, why_lowered="the broker that lost records does not recover"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("resurrected-topic", "lost-topic", "listed-against-log", "divergent-metadata", "not-recovered"),
            consequences=("missing-replica", "stray-replica", "config-against-log"),
            before="4.2.0",
            why="KAFKA-19497: fixed in 4.2.0",
        ),
    ),
    ticket="KAFKA-19497",
)
