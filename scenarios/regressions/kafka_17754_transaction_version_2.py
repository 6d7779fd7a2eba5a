"""regressions/kafka-17754-transaction-version-2: the same late commit, distinguished by its epoch."""

import msgspec

from harness.vocabulary import Scenario
from scenarios.regressions.kafka_17754_delayed_end_txn import SCENARIO as OLDER

SCENARIO: Scenario = msgspec.structs.replace(
    OLDER,
    summary="A commit waits on its connection, is retried on another, and is refused when it arrives.",
    why=(
        "With transaction.version 2 every EndTxn raises the producer's epoch. The late commit has the epoch "
        "of a transaction that is over, and the coordinator answers PRODUCER_FENCED."
    ),
    workload=msgspec.structs.replace(OLDER.workload, transaction_version=2),
    versions_min="4.1.0",
    expectations=(),
)
