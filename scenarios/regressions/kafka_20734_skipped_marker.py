"""regressions/kafka-20734-skipped-marker: transactions end while a partition has no leader."""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Mode,
    Scenario,
    Step,
    Stop,
    Topology,
    TxnWorkload,
    Validity,
    broker,
)

SCENARIO = Scenario(
    summary="Stop brokers, one after the other, that have the only replicas of partitions with transactions.",
    why=(
        "While a broker is down, its partitions have no leader. A coordinator that ends a transaction takes "
        "them for deleted, and completes the transaction without a marker there. The records stay open, and "
        "the next marker of that producer decides about them: aborted records become committed."
    ),
    schedule=FixedSchedule(
        steps=(Step(6_000, 8_000, Stop(broker(1))), Step(18_000, 8_000, Stop(broker(2)))),
        duration_ms=34_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    workload=TxnWorkload(replication_factor=1, partitions=3),
    ticket="KAFKA-20734",
    expectations=(
        Expectation(Validity.VALID, before="4.3.0", why="KAFKA-20734: came with 4.3.0"),
        Expectation(
            Validity.INVALID,
            (
                "G1a",
                "hanging-transaction",
                "lost-write",
                "markers-differ",
                "open-producer-unknown",
                "torn-transaction",
            ),
            why="KAFKA-20734: a partition without a leader counts as deleted",
        ),
    ),
)
