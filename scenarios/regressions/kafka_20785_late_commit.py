"""regressions/kafka-20785-late-commit: a commit that is too late is fenced, which is not fatal for all.

With transaction.version 2 a coordinator that aborts a transaction after its timeout raises the producer's
epoch by one, as every end of a transaction does.  A commit that arrives then has an epoch that is one behind.
The coordinator takes it for the retry of an EndTxn that was acknowledged (``TransactionCoordinator``,
``retryOnEpochBump``), finds that the transaction was aborted, and answers INVALID_TXN_STATE.  Clients treat
this as a defect of the application; Kafka Streams ends its thread.  Here the commit waits on its connection
until the transaction has timed out.
"""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Mode,
    Scenario,
    Script,
    ScriptedTransactions,
    Topology,
    Validity,
)
from scenarios.aborting import OFTEN_ABORTED

SCENARIO = Scenario(
    summary="A commit waits on its connection until its transaction has timed out, and is refused.",
    why=(
        "A producer whose transaction timed out is fenced, and its application begins anew. With "
        "transaction.version 2 it is answered INVALID_TXN_STATE instead, which ends the application."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=50_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, config=OFTEN_ABORTED),
    workload=ScriptedTransactions(
        script=Script.LATE_COMMIT, assignments=((1, 2, 3), (1, 2, 3)), rate=100, transaction_version=2
    ),
    kafka_version="4.3.1",
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("old-epoch-hidden",),
            before="4.5.0",
            why="KAFKA-20785: the fix was merged for 4.5",
        ),
    ),
    ticket="KAFKA-20785",
)
