"""regressions/kafka-17754-delayed-end-txn: a late commit ends the next transaction of an older client."""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Scenario,
    Script,
    ScriptedTransactions,
    Topology,
    Validity,
)

LATE_END = ("G1a", "torn-transaction", "marker-against-answer", "markers-differ")
"""What a request that ends another transaction than it was meant for may lead to."""

SCENARIO = Scenario(
    summary="A commit waits on its connection, is retried on another, and arrives in the next transaction.",
    why=(
        "With the transaction protocol before KIP-890's second part every transaction of a producer has the "
        "same epoch, so the coordinator can't tell the late commit from one of the transaction under way: "
        "half of that is committed although its producer aborts it. The client's protocol decides, on any "
        "broker."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=18_000),
    topology=Topology(config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}),
    workload=ScriptedTransactions(script=Script.DELAYED_END_TXN, transaction_version=1, rate=100),
    expectations=(
        Expectation(
            Validity.INVALID,
            LATE_END,
            why="KAFKA-17754: open by design for clients of transaction.version 1",
        ),
    ),
    ticket="KAFKA-17754",
)
