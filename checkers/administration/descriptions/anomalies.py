"""The anomalies of descriptions of transactions."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs

_SOURCE = "KIP-664, DescribeTransactions and DescribeProducers"

TRANSACTION_UNKNOWN = AnomalyKind(
    id="open-transaction-unknown",
    meaning=(
        "Before the timeout and the end of a transaction, its coordinator reported that it was not "
        "ongoing, or left out a partition whose records were acknowledged."
    ),
    guarantee="A coordinator keeps each transaction, with all its partitions, until the "
    "transaction ends or times out.",
    source=f"KIP-98, Transaction Coordinator; {_SOURCE}; "
    "TransactionCoordinator.handleAddPartitionsToTransaction",
)
PRODUCER_UNKNOWN = AnomalyKind(
    id="open-producer-unknown",
    meaning=(
        "Before the timeout and the end of a transaction, the leader of a partition reported that "
        "the producer has no open transaction there, or that the transaction does not begin at its "
        "first record."
    ),
    guarantee="A leader knows the offset of the first record of every open transaction in its partition.",
    source=f"KIP-98, Last stable offset; {_SOURCE}; "
    "org.apache.kafka.storage.internals.log.ProducerStateManager",
)
ABORTED_OPEN = AnomalyKind(
    id="aborted-transaction-open",
    meaning="A leader acknowledged an abort marker, and later reported that the transaction is open there.",
    guarantee="A marker ends the transaction of its producer in the partition.",
    source="KIP-98, Control messages; KIP-664, Admin.abortTransaction",
)
COMMIT_AFTER_ABORT = AnomalyKind(
    id="commit-after-abort",
    meaning="A commit was acknowledged although the coordinator had reported that the transaction "
    "was aborted.",
    guarantee="An aborted transaction is never committed, also if it was aborted because of its timeout.",
    source="KIP-98, transaction.timeout.ms; Kafka's TransactionCoordinator.endTransaction",
)
ANOMALIES = by_id(TRANSACTION_UNKNOWN, PRODUCER_UNKNOWN, ABORTED_OPEN, COMMIT_AFTER_ABORT)
"""All anomalies by id."""
NEEDS = Needs((Source.CLIENTS,), all_rest_on=(Source.CLIENTS, *PERMITTED), workloads=frozenset({"txn"}))
"""The journals that the checker's rules need."""
