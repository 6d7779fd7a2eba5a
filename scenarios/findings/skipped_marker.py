"""findings/skipped-marker: transactions end while a partition has no leader."""

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
    summary="Stop brokers in turn, each with the only replica of a partition, while transactions end.",
    why=(
        "While a broker is down, its partition has no leader. A coordinator that ends a transaction takes "
        "it for deleted, and completes the transaction without a marker there. The records stay open, and "
        "the next marker of that producer decides about them: aborted records become committed."
    ),
    # An outage shows nothing unless a transaction with records in the partition ends while it lasts.
    schedule=FixedSchedule(
        steps=tuple(
            Step(8_000 + 13_000 * place, 5_000, Stop(broker(number)))
            for place, number in enumerate((1, 2, 3, 1))
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    workload=TxnWorkload(replication_factor=1, partitions=3, lapsing_interval_ms=300),
    ticket="KAFKA-20734",
    expectations=(
        Expectation(Validity.VALID, before="4.3.0", why="KAFKA-20734: came with 4.3.0"),
        Expectation(
            Validity.INVALID,
            (
                "completed-without-marker",
                "hanging-transaction",
                "marker-against-answer",
                "marker-shared",
                "markers-differ",
                "open-producer-unknown",
            ),
            consequences=(
                "marker-of-another-transaction",
                "G1a",
                "int-poll-skip",
                "lost-write",
                "poll-skip",
                "torn-transaction",
            ),
            why="KAFKA-20734: a partition without a leader counts as deleted",
        ),
    ),
)
