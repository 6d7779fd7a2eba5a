"""What descriptions of transactions can show."""

from checkers.verdict.kinds import AnomalyKind, by_id

_SOURCE = "KIP-664, DescribeTransactions and DescribeProducers"

TRANSACTION_UNKNOWN = AnomalyKind(
    id="open-transaction-unknown",
    meaning=(
        "The coordinator of a transaction told, before its timeout and its end, that it was not under way, "
        "or without one of the partitions whose records were acknowledged."
    ),
    guarantee="A coordinator keeps each transaction with all its partitions until it ends or times out.",
    source=f"KIP-98, Transaction Coordinator; {_SOURCE}; "
    "TransactionCoordinator.handleAddPartitionsToTransaction",
)
PRODUCER_UNKNOWN = AnomalyKind(
    id="open-producer-unknown",
    meaning=(
        "The leader of a partition told, before a transaction's timeout and its end, that the producer has "
        "none open there, or that it begins elsewhere than at its first record."
    ),
    guarantee="A leader knows of every open transaction where its first record in the partition stands.",
    source=f"KIP-98, Last stable offset; {_SOURCE}; "
    "org.apache.kafka.storage.internals.log.ProducerStateManager",
)
ABORTED_OPEN = AnomalyKind(
    id="aborted-transaction-open",
    meaning="A leader acknowledged an abort marker, and told later that the transaction is open there.",
    guarantee="A marker ends its producer's transaction in the partition.",
    source="KIP-98, Control messages; KIP-664, Admin.abortTransaction",
)
COMMIT_AFTER_ABORT = AnomalyKind(
    id="commit-after-abort",
    meaning="A commit was acknowledged although the coordinator had told that the transaction was aborted.",
    guarantee="A transaction that was aborted, by its timeout too, is not committed any more.",
    source="KIP-98, transaction.timeout.ms; Kafka's TransactionCoordinator.endTransaction",
)
ANOMALIES = by_id(TRANSACTION_UNKNOWN, PRODUCER_UNKNOWN, ABORTED_OPEN, COMMIT_AFTER_ABORT)
"""All of them by id."""
