"""G1a in 8 of 8 (68 to 100 %) with 0 of 31 faults, 4 nodes, 9 s.

Minimised from run 75e25af3 of exploratory/gambits-txn, Kafka 4.3.1, with the seeded bug aborted-not-indexed.
"""

from harness.vocabulary import (
    FixedSchedule,
    Mode,
    Scenario,
    Topology,
    TxnWorkload,
)

SCENARIO = Scenario(
    summary="G1a, minimised from a run of exploratory/gambits-txn.",
    why=(
        "A transaction that a coordinator has prepared is completed by the next leader of its partition, and "
        "a retry reaches another leader. A defect here makes half a transaction visible, an aborted one, or a"
        " zombie's."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=9_000),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=1,
        config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
    ),
    workload=TxnWorkload(partitions=1, producers=1, consumers=1, transactors=1),
    kafka_version="4.3.1",
    ticket="KIP-98, KIP-360, KIP-890",
    keeps_draws=True,
)
