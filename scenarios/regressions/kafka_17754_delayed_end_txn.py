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
from scenarios.aborting import OFTEN_ABORTED

LATE_END = ("G1a", "torn-transaction", "marker-against-answer", "markers-differ")
"""What a request that ends another transaction than it was meant for may lead to."""

SCENARIO = Scenario(
    summary="A commit waits on its connection, is retried on another, and arrives in the next transaction.",
    why=(
        "With the transaction protocol before the second part of KIP-890, all transactions of a producer "
        "have the same epoch. The coordinator can't distinguish the late commit from one of the current "
        "transaction. It commits half of that transaction, although the producer aborts it. This depends on "
        "the client's protocol, not on the broker's version."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=18_000),
    topology=Topology(config=OFTEN_ABORTED),
    workload=ScriptedTransactions(script=Script.DELAYED_END_TXN, transaction_version=1, rate=100),
    expectations=(
        Expectation(
            Validity.INVALID, LATE_END, why="KAFKA-17754: open by design for clients of transaction.version 1"
        ),
    ),
    ticket="KAFKA-17754",
)
