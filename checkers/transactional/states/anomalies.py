"""The anomalies of transactions' states in the coordinators' log."""

from checkers.history.sources import Source
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import Needs

STATE_ILLEGAL = AnomalyKind(
    "transaction-state-illegal",
    "In the log of a transaction coordinator, a state of a transactional id follows states from which it "
    "can't be reached, such as CompleteAbort after PrepareCommit.",
    "A decision to commit or abort is not changed, and is carried out before the next transaction begins.",
    "KIP-98, Transaction Coordinator; KIP-890; Kafka's TransactionState.validPreviousStates",
)
EPOCH_BACK = AnomalyKind(
    "transaction-epoch-back",
    "In the log of a transaction coordinator, the epoch of a transactional id's producer is lower than "
    "before, or higher than one change of its state raises it, or the producer id changes within a "
    "transaction.",
    "The epoch of a producer id never decreases, and a transaction has one producer id.",
    "KIP-98, InitPidRequest; KIP-360; KIP-890; Kafka's TransactionMetadata.completeTransitionTo",
)
PARTITION_DROPPED = AnomalyKind(
    "transaction-partition-dropped",
    "In the log of a transaction coordinator, a transaction lacks a partition that it had before, or its "
    "decision has another one.",
    "A transaction keeps all its partitions until it is completed, and all of them get its markers.",
    "KIP-98, AddPartitionsToTxnRequest; Kafka's TransactionMetadata.completeTransitionTo",
)
START_WRONG = AnomalyKind(
    "transaction-start-wrong",
    "In the log of a transaction coordinator, the start time of a transaction is not the time at which its "
    "first partition was added, or it changes.",
    "A coordinator aborts a transaction that has been open for longer than its timeout, and no other.",
    "KIP-98, transaction.timeout.ms; Kafka's TransactionMetadata.prepareAddPartitions",
)
ANOMALIES = by_id(STATE_ILLEGAL, EPOCH_BACK, PARTITION_DROPPED, START_WRONG)
"""All anomalies, by id."""
NEEDS = Needs(
    (Source.DISKS,), all_rest_on=(Source.DISKS,), workloads=frozenset({"txn", "copy", "compacted", "shares"})
)
"""The journals that the checker's rules need."""
