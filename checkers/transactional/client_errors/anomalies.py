"""Errors that Kafka promises not to return to a client without a fault of its own."""

from checkers.verdict.kinds import AnomalyKind, by_id

SEQUENCE_LOST = AnomalyKind(
    id="sequence-lost",
    meaning="An idempotent producer got an out of order sequence error although its earlier "
    "records had been acknowledged.",
    guarantee="The leader of a partition knows the sequence of every batch that it acknowledged to "
    "an idempotent producer; an out of order sequence error means that data may have "
    "been lost.",
    source="KIP-98, KIP-360; org.apache.kafka.common.errors.OutOfOrderSequenceException, "
    "UnknownProducerIdException",
)
FENCED_WITHOUT_RIVAL = AnomalyKind(
    id="fenced-without-rival",
    meaning="A transactional producer was fenced although no other producer had initialised its "
    "transactional id.",
    guarantee="The coordinator raises a producer's epoch only on a client's request, when its "
    "transactional id is initialised, or when a transaction exceeds its timeout.",
    source="KIP-98 (Transaction Coordinator), KIP-890; "
    "org.apache.kafka.common.errors.ProducerFencedException",
)
TRANSACTION_FORGOTTEN = AnomalyKind(
    id="transaction-forgotten",
    meaning="The coordinator did not know an ongoing transaction, its producer, or a partition that it "
    "had added to it.",
    guarantee="A transaction whose records were acknowledged is ongoing until it ends or times "
    "out, or its producer is fenced. A partition that was added to it belongs to it until then.",
    source="KIP-98 (Transaction Coordinator), KIP-890; org.apache.kafka.common.errors."
    "InvalidTxnStateException, InvalidPidMappingException",
)
OLD_EPOCH_HIDDEN = AnomalyKind(
    id="old-epoch-hidden",
    meaning="A broker that knew a newer epoch of a producer answered INVALID_TXN_STATE to the old one.",
    guarantee="A producer with an old epoch is answered INVALID_PRODUCER_EPOCH by leaders and "
    "PRODUCER_FENCED by coordinators. The producer may continue after the first error, the application "
    "after the second.",
    source="KIP-588; KIP-890; KAFKA-19690, fixed in 3.9.2, 4.0.2 and 4.1.1; KAFKA-20785",
)
FENCED_BY_OLDER_EPOCH = AnomalyKind(
    id="fenced-by-older-epoch",
    meaning="The newest producer of a transactional id was fenced, although after its initialisation only "
    "requests to raise an older epoch of the same producer id were sent.",
    guarantee="InitProducerId with a producer id and an epoch raises this epoch only if it is the newest; "
    "otherwise it is fenced and has no effect.",
    source="KIP-360 (InitProducerId); org.apache.kafka.common.errors.ProducerFencedException",
)
ANOMALIES = by_id(
    SEQUENCE_LOST, FENCED_WITHOUT_RIVAL, TRANSACTION_FORGOTTEN, OLD_EPOCH_HIDDEN, FENCED_BY_OLDER_EPOCH
)
